package devstack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// clickHouseUser is one entry of users.xml. Access over SQL (CREATE USER, GRANT) does not exist in the engine library,
// so users are written here.
type clickHouseUser struct {
	Name     string
	Password string   // empty: none
	Profile  string   // one of the profiles in usersTemplate
	Quota    string   // one of the quotas in usersTemplate
	Grants   []string // GRANT statements; none: everything is allowed
}

// users returns all users. To add one: an entry here, its password in state.Secret, its profile in usersTemplate.
func (c *clickHouse) users() []clickHouseUser {
	return []clickHouseUser{
		// The engine library's own session logs in as `default` without a password, always. So this user can do nothing
		// but open the listeners.
		{Name: "default", Profile: "launcher", Quota: "default", Grants: []string{"GRANT SYSTEM LISTEN ON *.*"}},
		{Name: "linkfold", Password: c.password, Profile: "default", Quota: "default"},
	}
}

var templateFuncs = template.FuncMap{
	"xml": func(s string) string {
		var b strings.Builder
		xml.EscapeText(&b, []byte(s)) // a strings.Builder returns no error
		return b.String()
	},
	"sha256": func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return hex.EncodeToString(sum[:])
	},
}

// configTemplate holds for the engine library and for a server binary. The library reads log-level and ignores
// logger.level, the server the other way round; console output would go to the library's terminal.
var configTemplate = template.Must(template.New("config.xml").Funcs(templateFuncs).Parse(`<clickhouse>
  <path>{{xml .Dir}}/data/</path>
  <tmp_path>{{xml .Dir}}/tmp/</tmp_path>
  <user_files_path>{{xml .Dir}}/user_files/</user_files_path>
  <format_schema_path>{{xml .Dir}}/format_schemas/</format_schema_path>
  <listen_host>127.0.0.1</listen_host>
  <tcp_port>{{.Port}}</tcp_port>
  <http_port>{{.PortHTTP}}</http_port>
  <timezone>UTC</timezone>
  <log-level>warning</log-level>
  <logger>
    <level>warning</level>
    <console>0</console>
    <log>{{xml .Logs}}/clickhouse.log</log>
    <errorlog>{{xml .Logs}}/clickhouse.err.log</errorlog>
    <size>10M</size>
    <count>3</count>
  </logger>
  <users_config>{{xml .Dir}}/users.xml</users_config>
  <max_server_memory_usage>{{.Memory}}</max_server_memory_usage>
  <max_concurrent_queries>100</max_concurrent_queries>
</clickhouse>
`))

// usersTemplate switches off two things that the engine library has on and a server has not, so that what works here
// works there.
var usersTemplate = template.Must(template.New("users.xml").Funcs(templateFuncs).Parse(`<clickhouse>
  <profiles>
    <default>
      <implicit_select>0</implicit_select>
      <allow_introspection_functions>0</allow_introspection_functions>
    </default>
    <launcher/>
  </profiles>
  <quotas><default/></quotas>
  <users>{{range .}}
    <{{.Name}}>
      {{if .Password}}<password_sha256_hex>{{sha256 .Password}}</password_sha256_hex>{{else}}<no_password/>{{end}}
      <networks><ip>127.0.0.1</ip></networks>
      <profile>{{.Profile}}</profile>
      <quota>{{.Quota}}</quota>{{if .Grants}}
      <grants>{{range .Grants}}<query>{{xml .}}</query>{{end}}</grants>{{else}}
      <access_management>1</access_management>
      <named_collection_control>1</named_collection_control>{{end}}
    </{{.Name}}>{{end}}
  </users>
</clickhouse>
`))

// writeConfig writes config.xml and users.xml, and makes the directories.
func (c *clickHouse) writeConfig() error {
	dir := c.dataDir()
	for _, sub := range []string{"data", "tmp", "user_files", "format_schemas"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	values := map[string]any{"Dir": dir, "Logs": filepath.Join(c.dir, "logs"), "Port": c.port, "PortHTTP": c.portHTTP, "Memory": c.memory}
	return errors.Join(
		writeTemplate(c.configFile(), configTemplate, values),
		writeTemplate(filepath.Join(dir, "users.xml"), usersTemplate, c.users()),
	)
}

// writeTemplate renders a template to a file that only its owner can read.
func writeTemplate(path string, t *template.Template, values any) error {
	var b strings.Builder
	if err := t.Execute(&b, values); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}
