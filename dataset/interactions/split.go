package interactions

// evaluated is the minimum length of a sequence whose last two items are held out:
// shorter sequences would leave nothing to train on.
const evaluated = 3

// Train returns the items of a user that training may see: all but the last
// two. Users of fewer than three items are not evaluated, and all of theirs are
// for training.
func (l *Log) Train(user int) []int32 {
	all := l.Sequence(user)
	if len(all) < evaluated {
		return all
	}
	return all[: len(all)-2 : len(all)-2]
}

// Validation returns the last item but one of a user, and the items before it.
// ok is false for users of fewer than three items.
func (l *Log) Validation(user int) (history []int32, target int32, ok bool) {
	return l.heldOut(user, 2)
}

// Test returns the last item of a user, and the items before it, that of
// Validation included. ok is false for users of fewer than three items.
func (l *Log) Test(user int) (history []int32, target int32, ok bool) {
	return l.heldOut(user, 1)
}

func (l *Log) heldOut(user, fromEnd int) (history []int32, target int32, ok bool) {
	all := l.Sequence(user)
	if len(all) < evaluated {
		return nil, 0, false
	}
	at := len(all) - fromEnd
	return all[:at:at], all[at], true
}

// TrainCounts returns how often each item occurs in the training parts of all
// users: 0 for items that a model meets for the first time when it is tested.
func (l *Log) TrainCounts() []int {
	counts := make([]int, l.Items())
	for u := range l.Users() {
		for _, item := range l.Train(u) {
			counts[item]++
		}
	}
	return counts
}

// Repeats says whether any user takes an item twice.
func (l *Log) Repeats() bool {
	last := make([]int32, l.Items()) // user that took each item last, from 1
	for u := range l.Users() {
		for _, item := range l.Sequence(u) {
			if last[item] == int32(u)+1 {
				return true
			}
			last[item] = int32(u) + 1
		}
	}
	return false
}
