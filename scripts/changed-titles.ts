// Follows test titles through the git history: `node scripts/changed-titles.ts <commit> [--all]` prints the tests that were
// removed or renamed since the commit, and the number of added tests. `--all` also prints the added tests.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { titledCallsOf } from './asvs/test-tags.ts'

export interface TitledTest {
  readonly path: string
  /** The title, preceded by the titles of the enclosing `describe` calls: `POST /token > 400: refuses …`. */
  readonly title: string
  /** The source of the test without its title. */
  readonly body: string
}

/** A test before and after a change. One side is `undefined` for an added or removed test. */
export interface Step {
  readonly before: TitledTest | undefined
  readonly after: TitledTest | undefined
}

interface Removal {
  readonly test: TitledTest
  readonly commit: string
}

export interface TitleHistory {
  readonly removed: readonly Removal[]
  readonly renamed: readonly (readonly [before: TitledTest, after: TitledTest])[]
  readonly added: readonly TitledTest[]
  /** The number of tests with the same title, in any file. */
  readonly kept: number
}

/** Tests with a smaller share of common words are treated as different tests. */
const SIMILARITY_MIN = 0.6
const TEST_FILE = /\.test\.ts$/
const BUFFER_BYTES = 2 ** 30

/** Returns the tests of a file. A title that is not a string literal is shown as its source. A repeated title gets a number. */
export function testsOf(path: string, text: string): readonly TitledTest[] {
  const found = titledCallsOf({ path, text })
  const groups = found.filter(({ isGroup }) => isGroup)
  const counts = new Map<string, number>()
  return found
    .filter(({ isGroup }) => !isGroup)
    .map(({ title, start, titleEnd, end }) => {
      const around = groups.filter((group) => group.start < start && end < group.end)
      const full = [...around.map((group) => group.title), title].join(' > ')
      const count = (counts.get(full) ?? 0) + 1
      counts.set(full, count)
      return {
        path,
        title: count === 1 ? full : `${full} (${count})`,
        body: text.slice(titleEnd, end).replaceAll(/\s+/g, ' '),
      }
    })
}

/** Pairs the tests of two versions: by title and file, then by title, then by the words of their bodies. */
export function pairTests(before: readonly TitledTest[], after: readonly TitledTest[]): readonly Step[] {
  const pairs = new Map<TitledTest, TitledTest>()
  const taken = new Set<TitledTest>()
  const pair = (one: TitledTest, other: TitledTest) => {
    if (pairs.has(one) || taken.has(other)) return
    pairs.set(one, other)
    taken.add(other)
  }
  const sameTitles = (one: TitledTest) => after.filter(({ title }) => title === one.title)
  for (const one of before) for (const other of sameTitles(one)) if (one.path === other.path) pair(one, other)
  for (const one of before) for (const other of sameTitles(one)) pair(one, other)
  const similar = before
    .filter((one) => !pairs.has(one))
    .flatMap((one) => after.filter((other) => !taken.has(other)).map((other) => ({ one, other })))
    .map(({ one, other }) => ({ one, other, similarity: similarityOf(one, other) }))
    .filter(({ similarity }) => similarity >= SIMILARITY_MIN)
    .toSorted((a, b) => b.similarity - a.similarity)
  for (const { one, other } of similar) pair(one, other)
  return [
    ...before.map((one): Step => ({ before: one, after: pairs.get(one) })),
    ...after.filter((other) => !taken.has(other)).map((other): Step => ({ before: undefined, after: other })),
  ]
}

/** The share of common words of two tests, from 0 to 1. The titles count half. */
function similarityOf(one: TitledTest, other: TitledTest): number {
  const bodies = shareOfWords(one.body, other.body)
  return Math.max(bodies, (bodies + shareOfWords(one.title, other.title)) / 2)
}

function shareOfWords(one: string, other: string): number {
  const [a, b] = [wordsOf(one), wordsOf(other)]
  const common = [...a].filter((word) => b.has(word)).length
  return common === 0 ? 0 : common / (a.size + b.size - common)
}

const words = new Map<string, ReadonlySet<string>>()

function wordsOf(text: string): ReadonlySet<string> {
  const known = words.get(text)
  if (known !== undefined) return known
  const found = new Set(text.match(/\w+/g))
  words.set(text, found)
  return found
}

/** Follows every test from a commit to HEAD, commit by commit, so that many small changes do not look like a new test. */
export function followTitles(root: string, from: string): TitleHistory {
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: BUFFER_BYTES }).trim()
  const started = testsIn(root, from, linesOf(git('ls-tree', '-r', '--name-only', from)))
  const origins = new Map(started.map((test): [string, Followed] => [keyOf(test), { now: test, origin: test }]))
  const removals: Removal[] = []
  for (const commit of linesOf(git('rev-list', '--reverse', '--first-parent', `${from}..HEAD`))) {
    const changed = linesOf(git('diff-tree', '-r', '--no-renames', '--name-only', `${commit}^`, commit))
    const steps = pairTests(testsIn(root, `${commit}^`, changed), testsIn(root, commit, changed))
    const moved = steps.map((step) => ({ ...step, origin: step.before && origins.get(keyOf(step.before))?.origin }))
    for (const { before } of moved) if (before) origins.delete(keyOf(before))
    for (const { after, origin } of moved) {
      if (after) origins.set(keyOf(after), { now: after, origin })
      else if (origin) removals.push({ test: origin, commit: git('log', '-1', '--format=%h %s', commit) })
    }
  }
  return summarise([...origins.values()], removals)
}

interface Followed {
  readonly now: TitledTest
  /** `undefined` for an added test. */
  readonly origin: TitledTest | undefined
}

/** Treats a test that one commit removes and a later commit adds again as moved. */
function summarise(followed: readonly Followed[], removals: readonly Removal[]): TitleHistory {
  const fresh = followed.filter(({ origin }) => origin === undefined).map(({ now }) => now)
  const steps = pairTests(
    removals.map(({ test }) => test),
    fresh,
  )
  const gone = new Set(steps.filter(({ after }) => after === undefined).map(({ before }) => before))
  const all = [...followed.flatMap(({ now, origin }) => (origin ? [{ before: origin, after: now }] : [])), ...steps]
  const pairs = all.flatMap(({ before, after }) => (before && after ? [[before, after] as const] : []))
  return {
    removed: removals.filter(({ test }) => gone.has(test)),
    renamed: pairs.filter(([before, after]) => before.title !== after.title),
    added: steps.flatMap(({ before, after }) => (before === undefined && after ? [after] : [])),
    kept: pairs.filter(([before, after]) => before.title === after.title).length,
  }
}

function keyOf({ path, title }: TitledTest): string {
  return `${path}\n${title}`
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.split('\n')
}

/** The tests in those paths that are test files, at a commit. */
function testsIn(root: string, commit: string, paths: readonly string[]): readonly TitledTest[] {
  const files = paths.filter((path) => TEST_FILE.test(path))
  if (files.length === 0) return []
  const input = files.map((path) => `${commit}:${path}\n`).join('')
  let rest = execFileSync('git', ['cat-file', '--batch'], { cwd: root, input, maxBuffer: BUFFER_BYTES })
  return files.flatMap((path) => {
    const head = rest.subarray(0, rest.indexOf('\n') + 1)
    const size = Number(/ blob (\d+)\n$/.exec(head.toString())?.[1] ?? Number.NaN)
    // For a file that the commit lacks, git prints only one line that ends in "missing".
    const text = Number.isNaN(size) ? '' : rest.subarray(head.length, head.length + size).toString()
    rest = rest.subarray(head.length + (Number.isNaN(size) ? 0 : size + 1))
    return testsOf(path, text)
  })
}

function print({ removed, renamed, added, kept }: TitleHistory, { all }: { readonly all: boolean }): void {
  console.log(
    `${kept} tests keep their titles, ${renamed.length} are renamed, ${removed.length} removed, ${added.length} added`,
  )
  for (const { test, commit } of removed) console.log(`\nremoved  ${test.path}: ${test.title}\n     in  ${commit}`)
  for (const [before, after] of renamed) {
    console.log(`\nrenamed  ${before.path}: ${before.title}\n     to  ${after.path}: ${after.title}`)
  }
  if (all) for (const { path, title } of added) console.log(`\nadded    ${path}: ${title}`)
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { all: { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  const [from] = positionals
  if (from === undefined) throw new Error('usage: node scripts/changed-titles.ts <commit> [--all]')
  print(followTitles(join(import.meta.dirname, '..'), from), values)
}
