package render

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
	"github.com/flux-landscaper/flux-landscaper/blueprints/template"
)

type Imports struct {
	Data        map[string]any
	Targets     map[string]Target
	TargetLists map[string][]Target
	TargetMaps  map[string]map[string]Target
}
type Target struct {
	Name   string
	Object any
}

func Satisfy(bp *model.Blueprint, files fs.FS, in *Imports) (*Imports, error) {
	out := &Imports{Data: map[string]any{}, Targets: map[string]Target{}, TargetLists: map[string][]Target{}, TargetMaps: map[string]map[string]Target{}}
	v := schema.New(schema.Options{Blueprint: files})
	for i := range bp.Imports {
		d := &bp.Imports[i]
		switch d.Type {
		case model.TypeTarget:
			t, ok := in.Targets[d.Name]
			if !ok {
				return nil, fmt.Errorf("import %q missing", d.Name)
			}
			out.Targets[d.Name] = t
		default:
			val, ok := in.Data[d.Name]
			if !ok {
				return nil, fmt.Errorf("import %q missing", d.Name)
			}
			if d.Schema != nil {
				if err := v.Validate(d.Schema.RawMessage, val); err != nil {
					return nil, err
				}
			}
			out.Data[d.Name] = val
		}
	}
	return out, nil
}

func DeployItems(ctx context.Context, bp *model.Blueprint, files fs.FS, values *Imports) ([]v1alpha1.DeployItemTemplate, error) {
	imports := map[string]any{}
	for k, v := range values.Data {
		imports[k] = v
	}
	for k, v := range values.Targets {
		imports[k] = v.Object
	}
	var out []v1alpha1.DeployItemTemplate
	for i := range bp.DeployExecutions {
		e := &bp.DeployExecutions[i]
		var src string
		_ = json.Unmarshal(e.Template.RawMessage, &src)
		if src == "" {
			raw, err := fs.ReadFile(files, e.File)
			if err != nil {
				return nil, err
			}
			src = string(raw)
		}
		res, err := template.GoTemplate{}.Execute(ctx, template.Input{Name: e.Name, File: e.File, Source: src, Files: files, Values: map[string]any{"imports": imports}, RejectNoValue: true})
		if err != nil {
			return nil, err
		}
		var doc struct {
			DeployItems []struct {
				v1alpha1.DeployItemTemplate
				Target *struct{ Name, Import string } `json:"target"`
			} `json:"deployItems"`
		}
		if err := json.Unmarshal(res.Document, &doc); err != nil {
			return nil, err
		}
		for _, it := range doc.DeployItems {
			t := it.DeployItemTemplate
			if it.Target != nil {
				n := it.Target.Name
				if it.Target.Import != "" {
					n = values.Targets[it.Target.Import].Name
				}
				t.Target = &v1alpha1.ObjectReference{Name: n}
			}
			out = append(out, t)
		}
	}
	return out, nil
}
