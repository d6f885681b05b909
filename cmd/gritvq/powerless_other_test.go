//go:build !linux

package main

import "errors"

func powerless() { check(errors.New("rights are dropped on Linux only")) }
