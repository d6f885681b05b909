package config

import "reflect"

// Differences lists the keys whose values differ in two configurations of one type, without their sections. Lists
// without elements are equal.
func Differences(a, b any) ([]string, error) {
	was, err := source(a)
	if err != nil {
		return nil, err
	}
	is, err := source(b)
	if err != nil {
		return nil, err
	}
	d := decoder{root: was.Type()}
	var keys []string
	for _, key := range dottedKeys(was.Type(), "") {
		x, _, err := d.find(was, key)
		if err != nil {
			return nil, err
		}
		y, _, err := d.find(is, key)
		if err != nil {
			return nil, err
		}
		empty := x.Kind() == reflect.Slice && x.Len() == 0 && y.Len() == 0
		if x.Kind() != reflect.Struct && !empty && !reflect.DeepEqual(x.Interface(), y.Interface()) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
