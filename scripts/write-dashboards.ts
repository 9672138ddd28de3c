// Writes deploy/docker/grafana/dashboards/<uid>.json from scripts/dashboards/dashboards.yaml. `--check` only compares, and fails
// on a difference.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readDashboards, toGrafana } from './dashboards/dashboard.ts'

const folder = join(import.meta.dirname, '..', 'deploy', 'docker', 'grafana', 'dashboards')
const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
mkdirSync(folder, { recursive: true })
const source = readFileSync(join(import.meta.dirname, 'dashboards', 'dashboards.yaml'), 'utf8')
for (const dashboard of readDashboards(source)) {
  const path = join(folder, `${dashboard.uid}.json`)
  const text = `${JSON.stringify(toGrafana(dashboard), null, 2)}\n`
  if (!values.check) writeFileSync(path, text)
  else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
    console.error(
      `deploy/docker/grafana/dashboards/${dashboard.uid}.json differs from scripts/dashboards; run: pnpm dashboards`,
    )
    process.exitCode = 1
  }
}
