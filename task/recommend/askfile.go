package recommend

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/network"
)

// AskManyOptions are questions of many users to a stored recommender.
type AskManyOptions struct {
	AskOptions                      // its User, History and Text are not used
	Users      string               // a log: the items of a user are the history
	Log        interactions.Options // of Users
	Output     string               // see answerFormats
}

// Asked says what AskMany wrote.
type Asked struct {
	Output  string  `json:"output"`
	Users   int     `json:"users"`
	Answers int     `json:"answers"`
	Score   string  `json:"score_is"`
	Seen    Seen    `json:"seen_items"`
	Seconds float64 `json:"seconds"` // without loading
}

// AskMany writes the answers of all users of a log to a file.
func AskMany(ctx context.Context, o AskManyOptions, w task.Watcher) (*Asked, error) {
	o.Purpose = Recommending
	format, err := o.check()
	if err != nil {
		return nil, err
	}
	r, err := o.load(ctx, o.Dir, o.Purpose, w)
	if err != nil {
		return nil, err
	}
	questions, err := o.questions(ctx, r, w)
	if err != nil {
		return nil, err
	}
	seen := cmp.Or(o.Seen, r.Manifest.Protocol.Seen, DropSeen)
	ranker, err := r.ranker(ctx, o.Backend, network.Options{
		Depth: max(o.Beam, o.Count), ExcludeSeen: seen == DropSeen, Index: o.Search, Effort: o.Effort})
	if err != nil {
		return nil, err
	}
	defer ranker.Close()
	asked := &Asked{Output: o.Output, Users: len(questions), Score: r.Config.Kind().Score, Seen: seen}
	begun := time.Now()
	err = atomicfile.Write(o.Output, func(out io.Writer) error {
		answers := format(out)
		line := w.Line(len(questions), o.Purpose.questions)
		defer line.Done()
		for start := 0; start < len(questions); start += rankBlock {
			block := questions[start:min(len(questions), start+rankBlock)]
			lists, err := ranker.Top(ctx, block, o.Count)
			if err != nil {
				return err
			}
			for i, list := range lists {
				asked.Answers += len(list)
				if err := answers.add(block[i].Name, named(r.Catalogue, list)); err != nil {
					return fmt.Errorf("writing %s: %w", o.Output, err)
				}
			}
			line.Update(int64(start+len(block)), "asked")
		}
		return answers.end()
	})
	asked.Seconds = time.Since(begun).Seconds()
	return asked, err
}

func (o AskManyOptions) check() (answerFormat, error) {
	if o.Count < 1 {
		return nil, usage.Errorf("-k %d must be at least 1", o.Count)
	}
	if err := o.SearchOptions.check(); err != nil {
		return nil, err
	}
	format := answerFormats[strings.ToLower(filepath.Ext(o.Output))]
	if format == nil {
		return nil, usage.Errorf("-o %s: answers are written to .parquet, .jsonl or .csv", o.Output)
	}
	if info, err := os.Stat(filepath.Dir(o.Output)); err != nil || !info.IsDir() {
		return nil, usage.Errorf("-o %s: there is no directory %s; make it first", o.Output, filepath.Dir(o.Output))
	}
	model := append(output.Inside(o.Dir, modelFiles...), filepath.Join(o.Dir, IDsDir, catalogue.ParquetFile))
	return format, output.RefuseInput([]string{o.Output}, append(model, o.Users)...)
}

// questions are the whole sequences of a log.
func (o AskManyOptions) questions(ctx context.Context, r *Recommender, w task.Watcher) ([]Question, error) {
	log, err := interactions.Open(ctx, o.Users, o.Log)
	if err != nil {
		return nil, err
	}
	if log.InFileOrder() {
		w.Remark("%s: rows are taken to be in chronological order", o.Users)
	}
	rows, err := rowsOf(log.Items(), log.Item, r.Catalogue.Table, log.Path())
	if err != nil {
		return nil, err
	}
	questions := make([]Question, log.Users())
	for u := range questions {
		questions[u].Name = log.User(u)
		for _, item := range log.Sequence(u) {
			questions[u].History = append(questions[u].History, rows[item])
		}
	}
	return questions, nil
}

func named(c *catalogue.Catalogue, list []Scored) []userAnswer {
	answers := make([]userAnswer, len(list))
	for i, found := range list {
		answers[i] = userAnswer{Rank: int32(i + 1), Item: c.Key(int(found.Item)), Score: found.Score}
	}
	return answers
}

// userAnswer is one item for a user, a row of a table.
type userAnswer struct {
	User  string  `json:"-" parquet:"user,dict"`
	Rank  int32   `json:"-" parquet:"rank"`
	Item  string  `json:"item" parquet:"item,dict"`
	Score float64 `json:"score" parquet:"score"`
}

// answerWriter writes the answers of one user after the other.
type answerWriter interface {
	add(user string, list []userAnswer) error
	end() error
}

type answerFormat func(out io.Writer) answerWriter

// answerFormats are the files of answers: a row an answer with user, rank, item and score, or a line of JSON a user.
var answerFormats = map[string]answerFormat{
	".parquet": func(out io.Writer) answerWriter { return parquetAnswers{parquet.NewGenericWriter[userAnswer](out)} },
	".jsonl":   func(out io.Writer) answerWriter { return jsonAnswers{json.NewEncoder(out)} },
	".csv": func(out io.Writer) answerWriter {
		table := csv.NewWriter(out)
		_ = table.Write([]string{"user", "rank", "item", "score"}) // an error stays until the end
		return csvAnswers{table}
	},
}

type parquetAnswers struct {
	rows *parquet.GenericWriter[userAnswer]
}

func (p parquetAnswers) add(user string, list []userAnswer) error {
	for i := range list {
		list[i].User = user
	}
	_, err := p.rows.Write(list)
	return err
}

func (p parquetAnswers) end() error { return p.rows.Close() }

type jsonAnswers struct{ lines *json.Encoder }

func (j jsonAnswers) add(user string, list []userAnswer) error {
	return j.lines.Encode(struct {
		User  string       `json:"user"`
		Items []userAnswer `json:"items"`
	}{user, list})
}

func (j jsonAnswers) end() error { return nil }

type csvAnswers struct{ table *csv.Writer }

func (c csvAnswers) add(user string, list []userAnswer) error {
	for _, a := range list {
		row := []string{user, strconv.Itoa(int(a.Rank)), a.Item, strconv.FormatFloat(a.Score, 'g', -1, 32)}
		if err := c.table.Write(row); err != nil {
			return err
		}
	}
	return nil
}

func (c csvAnswers) end() error {
	c.table.Flush()
	return c.table.Error()
}
