package resolve

// Step is one step of a resolution, for people. Fields that do not apply are empty.
type Step struct {
	Action     string   `json:"action"`               // one of the Action constants
	Path       string   `json:"path,omitempty"`       // what was looked for
	Candidates []string `json:"candidates,omitempty"` // keys tried, in order; with a match the last is the key
	Key        string   `json:"key,omitempty"`
	Value      string   `json:"value,omitempty"`
	Locked     bool     `json:"locked,omitempty"`
	Remaining  string   `json:"remaining,omitempty"` // what is left of Path behind the key
	Relative   string   `json:"relative,omitempty"`  // the rests of all hops so far: later ones come first
	Hop        int      `json:"hop,omitempty"`       // number of this internal redirect

	DestinationQuery string `json:"destination_query,omitempty"`
	EmbeddedQuery    string `json:"embedded_query,omitempty"` // of the first internal value that has one
	RequestQuery     string `json:"request_query,omitempty"`
	Fragment         string `json:"fragment,omitempty"`      // the one in force
	FragmentFrom     string `json:"fragment_from,omitempty"` // request, value or destination
	URL              string `json:"url,omitempty"`
	Error            string `json:"error,omitempty"`
}

// What a Step says was done.
const (
	ActionMatch    = "match"    // Path led to Key
	ActionRedirect = "redirect" // the value is internal: it is looked up next; Path is what will be looked for
	ActionNoMatch  = "no match" // no candidate is a key: the answer lies on the request's origin
	ActionCombine  = "combine"  // the answer's query and fragment were put together
	ActionRefuse   = "refuse"   // the resolution ended with Error
)

func (w *walk) found(m Match, remaining string) {
	if w.trace == nil {
		return
	}
	s := Step{Action: ActionMatch, Path: w.path, Key: m.Key, Locked: m.Locked, Remaining: remaining, Relative: w.relative}
	for c := range Candidates(w.path) {
		s.Candidates = append(s.Candidates, c)
		if len(c) <= len(m.Key) {
			break
		}
	}
	if m.Value != nil {
		s.Value = m.Value.raw
	}
	w.trace(s)
}

func (w *walk) missed() {
	if w.trace == nil {
		return
	}
	s := Step{Action: ActionNoMatch, Path: w.path, Relative: w.relative}
	for c := range Candidates(w.path) {
		s.Candidates = append(s.Candidates, c)
	}
	w.trace(s)
}

func (w *walk) followed(v *Value) {
	if w.trace == nil {
		return
	}
	s := Step{Action: ActionRedirect, Path: v.path, Hop: w.result.Hops, Relative: w.relative, EmbeddedQuery: w.embedded(), Fragment: w.fragment}
	if s.Fragment != "" {
		s.FragmentFrom = "value"
	}
	w.trace(s)
}

// embedded prints the embedded query in force.
func (w *walk) embedded() string {
	if w.query && len(w.params) == 0 {
		return "?"
	}
	return string(appendParams(nil, w.params))
}

// combined tells of the answer; v is nil when no destination was found.
func (w *walk) combined(v *Value) {
	if w.trace == nil {
		return
	}
	query, fragment := w.effective()
	s := Step{Action: ActionCombine, Relative: w.relative, EmbeddedQuery: w.embedded(), Locked: w.locked, URL: w.result.URL}
	if query != "" {
		s.RequestQuery = "?" + query
	}
	if v != nil {
		s.DestinationQuery = v.search
	}
	switch {
	case fragment != "":
		s.Fragment, s.FragmentFrom = "#"+fragment, "request"
	case w.fragment != "":
		s.Fragment, s.FragmentFrom = w.fragment, "value"
	case v != nil && v.fragment != "":
		s.Fragment, s.FragmentFrom = v.fragment, "destination"
	}
	w.trace(s)
}

func (w *walk) refused(err error) {
	if w.trace != nil {
		w.trace(Step{Action: ActionRefuse, Path: w.path, Hop: w.result.Hops, Error: err.Error()})
	}
}
