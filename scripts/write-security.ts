// Writes docs/security.md from scripts/asvs/requirements.yaml and the tags in the tests. `--check` only compares. Both fail for a
// requirement with neither a test nor a reason.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { type Program, readChapters, SERVICES } from './asvs/requirement.ts'
import { listDocuments, listProblems, writePage } from './asvs/security-page.ts'
import { listTaggedTests, type Users } from './asvs/test-tags.ts'
import { readSourceTree } from './layout/source-tree.ts'

const root = join(import.meta.dirname, '..')
const path = join(root, 'docs', 'security.md')
const Manifest = z.object({ dependencies: z.record(z.string(), z.string()) })

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const chapters = readChapters(readFileSync(join(import.meta.dirname, 'asvs', 'requirements.yaml'), 'utf8'))
const tests = listTaggedTests(readSourceTree(root).files, usersOfCode())
const problems = [
  ...listProblems(chapters, tests),
  ...listDocuments(chapters)
    .filter(({ file, anchor }) => !headingsOf(file).includes(anchor))
    .map(({ file, anchor }) => `${file} has no heading ${anchor}`),
]
const page = writePage(chapters, tests)
if (!values.check) writeFileSync(path, page)
else if (!existsSync(path) || readFileSync(path, 'utf8') !== page) {
  problems.push(
    'docs/security.md differs from scripts/asvs/requirements.yaml and the tags in the tests; run: pnpm security',
  )
}
for (const problem of problems) console.error(problem)
process.exitCode = problems.length > 0 ? 1 : 0

/** A service uses its own folder and the packages that it depends on. The checks in `scripts` cover all services. */
function usersOfCode(): Users {
  const users = new Map<string, readonly Program[]>([
    ['scripts', SERVICES],
    ['services/console', ['console']],
  ])
  for (const service of SERVICES) {
    users.set(`services/${service}`, [service])
    const manifest = readFileSync(join(root, 'services', service, 'package.json'), 'utf8')
    const { dependencies } = Manifest.parse(JSON.parse(manifest))
    for (const name of Object.keys(dependencies).filter((each) => each.startsWith('@trestle/'))) {
      const folder = `packages/${name.slice('@trestle/'.length)}`
      users.set(folder, [...(users.get(folder) ?? []), service])
    }
  }
  return users
}

/** The headings of a page, in the form of link anchors. */
function headingsOf(file: string): readonly string[] {
  const headings = readFileSync(join(root, file), 'utf8').matchAll(/^#+ (.+)$/gm)
  return [...headings].map(([, title = '']) => title.toLowerCase().replaceAll(' ', '-'))
}
