import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { checkCommits, judgeCommits, problemsOfMessage } from './check-commits.ts'

const body = '\n\nBuyers asked for it, because pears are sold out.'

it.each([
  'feat(auth): sell apples',
  'docs(repo): say where apples grow',
  `fix(auth): ${'a'.repeat(61)}`,
  'fix(auth): hand over the band',
])('accepts %s', (subject) => {
  expect(problemsOfMessage(subject + body)).toEqual([])
})

it.each([
  ['sell apples', 'the subject is not "type(scope): imperative, lower case"'],
  ['docs: say where apples grow', 'the subject is not "type(scope): imperative, lower case"'],
  ['style(auth): sell apples', 'the subject is not "type(scope): imperative, lower case"'],
  ['feat(shop): sell apples', 'the subject is not "type(scope): imperative, lower case"'],
  ['feat(auth): Sell apples', 'the subject is not "type(scope): imperative, lower case"'],
  [`fix(auth): ${'a'.repeat(62)}`, 'the subject has 73 characters, not 72'],
  ['feat(auth): sell apples and pears', '"and" in the subject: make two commits'],
  ['feat(auth): sell apples or pears', '"or" in the subject: make two commits'],
  ['feat(auth): sell apples, pears', 'a comma in the subject: make a commit for each of its parts'],
  ['feat(auth): sell apples.', 'the subject ends with a full stop'],
])('refuses %s', (subject, problem) => {
  expect(problemsOfMessage(subject + body)).toEqual([problem])
})

it.each([
  ['', 'no body'],
  ['\n\n \n', 'an empty body'],
  ['\n\nwhy not', 'a body without a sentence'],
  ['\n\nBuyers.', 'a body of one word'],
  ['\n\nNo statement changes.', 'a body that gives no reason'],
  ['\n\nBuyers asked for it. The price stays the same.', 'short sentences alone'],
  ['\n\nBuyers asked for it', 'a sentence without its end'],
  ['\n\nCo-authored-by: A. Buyer <a@example.com>', 'trailers alone'],
])('refuses a message with %j below its subject: %s', (rest) => {
  expect(problemsOfMessage(`feat(auth): sell apples${rest}`)).toEqual(['no sentence in the body says why'])
})

it.each([
  'feat(auth): sell apples\n\nWork in progress: the tests of the apples have not run yet.',
  `chore(auth): wip${body}`,
])('refuses work that is not done: %j', (message) => {
  expect(problemsOfMessage(message)).toEqual(['the message says that the work is not done'])
})

it.each([
  '\n\nBuyers asked for it, since pears\nare sold out.\n\nCo-authored-by: A <a@example.com>',
  '\n\n`sell` was slow for buyers of pears: see RFC 9110. The price stays the same.',
])('accepts the body %j', (rest) => {
  expect(problemsOfMessage(`feat(auth): sell apples${rest}`)).toEqual([])
})

it('refuses a body that follows its subject without an empty line', () => {
  expect(
    problemsOfMessage(
      'feat(auth): sell apples\nBuyers asked for it.\nThe price stays the same, and so do all of the apples.',
    ),
  ).toEqual(['no empty line below the subject'])
})

it('knows a scope for each service and package', () => {
  const folders = ['services', 'packages'].flatMap((parent) => readdirSync(join(import.meta.dirname, '..', parent)))
  for (const folder of folders) expect(problemsOfMessage(`feat(${folder}): sell apples${body}`)).toEqual([])
})

/** Creates a repository with one commit per message. */
function repositoryOf(...messages: readonly string[]) {
  const root = mkdtempSync(join(tmpdir(), 'commits-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: root,
      stdio: 'ignore',
    })
  git('init', '--quiet', '--initial-branch=main')
  // One `git fast-import` creates all commits.
  const commits = messages.map(
    (message, second) =>
      `commit refs/heads/main\ncommitter a <a@example.com> ${second} +0000\ndata ${Buffer.byteLength(message)}\n${message}\n`,
  )
  execFileSync('git', ['fast-import', '--quiet'], { cwd: root, input: commits.join('') })
  return { root, git }
}

const withoutHashes = (lines: readonly string[]) => lines.map((line) => line.replace(/^[0-9a-f]{7} /, ''))

it('names the commits since the base that break a rule, the oldest first', () => {
  const { root } = repositoryOf('start', 'one', `feat(auth): sell apples${body}`, `fix(auth): weigh and pack${body}`)
  const { count, problems } = checkCommits(root, 'HEAD~3')
  expect({ count, problems: withoutHashes(problems) }).toEqual({
    count: 3,
    problems: [
      'one: the subject is not "type(scope): imperative, lower case"',
      'one: no sentence in the body says why',
      'fix(auth): weigh and pack: "and" in the subject: make two commits',
    ],
  })
})

it('refuses a subject that an earlier commit has, before the base or since', () => {
  const apples = `feat(auth): sell apples${body}`
  const pears = `feat(auth): sell pears${body}`
  const { root } = repositoryOf(
    apples,
    pears,
    apples,
    `docs(repo): describe apples${body}`,
    `docs(repo): describe apples${body}`,
  )
  expect(withoutHashes(checkCommits(root, 'HEAD~3').problems)).toEqual([
    'feat(auth): sell apples: an earlier commit has the same subject',
    'docs(repo): describe apples: an earlier commit has the same subject',
  ])
})

it('accepts the subject of a merge', () => {
  const { root, git } = repositoryOf('start', `feat(auth): sell apples${body}`)
  git('branch', 'apples')
  git('reset', '--quiet', '--hard', 'HEAD~1')
  git('commit', '--quiet', '--allow-empty', '--message', `feat(auth): sell pears${body}`)
  git('merge', '--quiet', '--no-ff', '--message', 'Merge apples', 'apples')
  expect(checkCommits(root, 'apples~1')).toEqual({ count: 2, problems: [] })
})

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `feat(auth): sell ${i} apples${body}`)

it('reads the newest twenty commits where HEAD adds none to its base', () => {
  const { root, git } = repositoryOf('one', 'two', ...numbered(19))
  git('update-ref', 'refs/remotes/origin/main', 'HEAD')
  const { passed, lines } = judgeCommits(root, { named: undefined, isCi: true })
  expect({ passed, lines: withoutHashes(lines) }).toEqual({
    passed: false,
    lines: [
      'two: the subject is not "type(scope): imperative, lower case"',
      'two: no sentence in the body says why',
      'the newest commits, 20: 2 problems',
    ],
  })
})

it('reads every commit of a younger repository', () => {
  const { root } = repositoryOf(...numbered(2))
  expect(judgeCommits(root, { named: 'HEAD', isCi: true })).toEqual({
    passed: true,
    lines: ['the newest commits, 2: 0 problems'],
  })
})

/** Creates a clone that contains only the newest commit. */
function shallowCloneOf(root: string): string {
  const clone = mkdtempSync(join(tmpdir(), 'commits-'))
  onTestFinished(() => rmSync(clone, { recursive: true }))
  execFileSync('git', ['clone', '--quiet', '--depth=1', `file://${root}`, clone])
  return clone
}

it.each([
  [true, { passed: false, lines: ['no commit is checked: this clone has no HEAD~1'] }],
  [false, { passed: true, lines: ['the newest commits, 1: 0 problems'] }],
])('where CI is %j, a shallow clone without its base gets the verdict %j', (isCi, verdict) => {
  const { root } = repositoryOf(...numbered(2))
  expect(judgeCommits(shallowCloneOf(root), { named: 'HEAD~1', isCi })).toEqual(verdict)
})

it.each([
  [true, false],
  [false, true],
])('in CI (%j), sources without a repository pass: %j', (isCi, passed) => {
  const folder = mkdtempSync(join(tmpdir(), 'commits-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const lines = ['no commit is checked: this clone has no origin/main and no main']
  expect(judgeCommits(folder, { named: undefined, isCi })).toEqual({ passed, lines })
})

it('without origin/main, compares a branch with main', () => {
  const { root, git } = repositoryOf('start')
  git('branch', '--move', 'main')
  git('checkout', '--quiet', '-b', 'apples')
  git('commit', '--quiet', '--allow-empty', '--message', `feat(auth): sell apples.${body}`)
  const { passed, lines } = judgeCommits(root, { named: undefined, isCi: true })
  expect({ passed, lines: withoutHashes(lines) }).toEqual({
    passed: false,
    lines: ['feat(auth): sell apples.: the subject ends with a full stop', '1 commits since main: 1 problems'],
  })
})

it('compares with origin/main rather than with main', () => {
  const { root, git } = repositoryOf('start', `feat(auth): sell apples${body}`)
  git('branch', '--move', 'main')
  git('update-ref', 'refs/remotes/origin/main', 'HEAD~1')
  expect(judgeCommits(root, { named: undefined, isCi: true })).toEqual({
    passed: true,
    lines: ['1 commits since origin/main: 0 problems'],
  })
})

it('in CI, a repository without origin/main or main fails', () => {
  const { root, git } = repositoryOf('start')
  git('branch', '--move', 'apples')
  expect(judgeCommits(root, { named: undefined, isCi: true })).toEqual({
    passed: false,
    lines: ['no commit is checked: this clone has no origin/main and no main'],
  })
})
