package rowfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// literalParser reads the Python literals that .npy headers are made of:
// dictionaries, tuples, lists, strings, integers, booleans and None.
type literalParser struct {
	text  string
	depth int
}

// maxLiteralDepth bounds recursion; headers nest two or three deep.
const maxLiteralDepth = 16

// parsePythonLiteral returns map[string]any, []any, string, int64, bool or nil.
func parsePythonLiteral(text string) (any, error) {
	p := &literalParser{text: text}
	value, err := p.value()
	if err != nil {
		return nil, err
	}
	p.space()
	if p.text != "" {
		return nil, errors.New("text after the closing brace")
	}
	return value, nil
}

func (p *literalParser) space() { p.text = strings.TrimLeft(p.text, " \t\r\n") }

// take consumes token if it is next.
func (p *literalParser) take(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.text, token)
	if ok {
		p.text = rest
	}
	return ok
}

func (p *literalParser) value() (any, error) {
	if p.depth++; p.depth > maxLiteralDepth {
		return nil, errors.New("nested too deeply")
	}
	defer func() { p.depth-- }()
	switch {
	case p.take("{"):
		return p.dict()
	case p.take("("):
		return p.list(")")
	case p.take("["):
		return p.list("]")
	case p.take("True"):
		return true, nil
	case p.take("False"):
		return false, nil
	case p.take("None"):
		return nil, nil
	case p.take("'"):
		return p.quoted("'")
	case p.take(`"`):
		return p.quoted(`"`)
	}
	return p.integer()
}

func (p *literalParser) dict() (any, error) {
	dict := map[string]any{}
	for !p.take("}") {
		key, err := p.value()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok || !p.take(":") {
			return nil, errors.New("expected 'key': value")
		}
		if dict[name], err = p.value(); err != nil {
			return nil, err
		}
		if !p.take(",") && !strings.HasPrefix(p.text, "}") {
			return nil, errors.New("expected , or }")
		}
	}
	return dict, nil
}

func (p *literalParser) list(closing string) (any, error) {
	list := []any{}
	for !p.take(closing) {
		item, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, item)
		if !p.take(",") && !strings.HasPrefix(p.text, closing) {
			return nil, fmt.Errorf("expected , or %s", closing)
		}
	}
	return list, nil
}

// quoted reads up to the closing quote; type and key names need no escapes.
func (p *literalParser) quoted(quote string) (any, error) {
	text, rest, ok := strings.Cut(p.text, quote)
	if !ok || strings.ContainsAny(text, "\\\n") {
		return nil, errors.New("unterminated string")
	}
	p.text = rest
	return text, nil
}

func (p *literalParser) integer() (any, error) {
	p.space()
	end := 0
	for end < len(p.text) && (p.text[end] >= '0' && p.text[end] <= '9' || end == 0 && p.text[end] == '-') {
		end++
	}
	n, err := strconv.ParseInt(p.text[:end], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("expected a value at %.20q", p.text)
	}
	p.text = strings.TrimPrefix(p.text[end:], "L") // long integers of Python 2
	return n, nil
}
