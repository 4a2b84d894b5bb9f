package state

import (
	"context"
	"crypto/rand"
)

// Secret returns the password recorded under name in dir/secrets.json; the first call for a name makes up one of at
// least 128 random bits, of letters and digits that need no quoting in any configuration file or URL.
func Secret(ctx context.Context, dir, name string) (string, error) {
	var secret string
	err := update(ctx, dir, "secrets.json", func(secrets map[string]string) (bool, error) {
		secret = secrets[name]
		if secret != "" {
			return false, nil
		}
		secret = rand.Text()
		secrets[name] = secret
		return true, nil
	})
	return secret, err
}
