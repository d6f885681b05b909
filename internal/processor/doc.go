// Package processor measures the time that this process has computed, which other processes do not lengthen.
package processor
