package recommend

import (
	"fmt"

	"github.com/gritvq/gritvq/internal/usage"
)

// Seen says whether items of a history may be found again.
type Seen string

// The rules for seen items. Without one, a log decides: seen items are dropped where
// no user takes an item twice.
const (
	KeepSeen Seen = "keep"
	DropSeen Seen = "drop"
)

// ParseSeen reads the value of the flag --seen; empty leaves it to the log.
func ParseSeen(text string) (Seen, error) {
	switch s := Seen(text); s {
	case "", KeepSeen, DropSeen:
		return s, nil
	}
	return "", usage.Errorf("--seen %s: use keep or drop", text)
}

// Protocol says how models are scored: figures of different protocols cannot be
// compared.
type Protocol struct {
	Split string `json:"split"`
	Seen  Seen   `json:"seen_items,omitempty"` // none of searches, which have no history
	Ties  string `json:"ties"`
}

// String describes the protocol in a line.
func (p Protocol) String() string {
	if p.Seen == "" {
		return fmt.Sprintf("%s; %s", p.Split, p.Ties)
	}
	rule := map[Seen]string{KeepSeen: "kept", DropSeen: "dropped"}[p.Seen]
	return fmt.Sprintf("%s; seen items are %s; %s", p.Split, rule, p.Ties)
}

const tieRule = "tied items share their mean rank"

// protocol is how the questions are scored.
func (d *Dataset) protocol() Protocol {
	if d.purpose == Searching {
		return Protocol{Split: "searches in three parts, the last for testing", Ties: tieRule}
	}
	return Protocol{Split: "leave one out: a user's last item is for testing, the one before for validation", Seen: d.Seen, Ties: tieRule}
}

// setSeen applies a rule for seen items; empty leaves the log's own.
func (d *Dataset) setSeen(s Seen) {
	if s != "" && d.purpose == Recommending {
		d.Seen = s
	}
}

// dropsSeen says whether answers leave out items of the history.
func (d *Dataset) dropsSeen() bool { return d.Seen == DropSeen }
