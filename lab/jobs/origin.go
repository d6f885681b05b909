package jobs

import "time"

// Origin is a part of records: what measured, where and when.
type Origin struct {
	Commit   string `json:"commit"`
	Hardware string `json:"hardware"`
	Backend  string `json:"backend"`
	Date     string `json:"date"`
	Command  string `json:"command"`
}

// Today returns the origin with its date.
func (o Origin) Today() Origin {
	o.Date = time.Now().UTC().Format(time.DateOnly)
	return o
}
