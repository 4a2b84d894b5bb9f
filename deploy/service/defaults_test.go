package service_test

import (
	"testing"
	"time"

	"linkfold/deploy/service"
)

func TestDefaults(t *testing.T) {
	t.Setenv("LINKFOLD_WAIT", "1h") // not asked
	var c struct {
		Wait time.Duration `default:"5s"`
		In   struct {
			N int `default:"7"`
		} `embed:"" prefix:"in-"`
		Name string
	}
	if err := service.Defaults(&c); err != nil || c.Wait != 5*time.Second || c.In.N != 7 || c.Name != "" {
		t.Errorf("Defaults: %+v, %v", c, err)
	}
}
