// Writes docs/settings/<service>.md and .env.example from the settings that the services read; `--check` compares instead and
// fails when they differ. Fails too when a setting does not say what it means.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { settingsDocuments } from './settings/settings-documents.ts'

const root = join(import.meta.dirname, '..')
const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const { documents, problems } = await settingsDocuments(root)
for (const problem of problems) console.error(problem)
let failed = problems.length > 0
for (const [path, text] of Object.entries(documents)) {
  const file = join(root, path)
  if (!values.check) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  } else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    console.error(`${path} differs from the settings; run: pnpm settings`)
    failed = true
  }
}
process.exit(failed ? 1 : 0)
