import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { checkCommits, problemsOfMessage } from './check-commits.ts'

const body = '\n\nBuyers asked for it.'

it.each([
  'feat(shop): sell apples',
  'docs: say where apples grow',
  `fix(shop): ${'a'.repeat(61)}`,
  'fix(shop): hand over the band',
])('accepts %s', (subject) => {
  expect(problemsOfMessage(subject + body)).toEqual([])
})

it.each([
  ['sell apples', 'the subject is not "type(scope): imperative, lower case"'],
  ['style(shop): sell apples', 'the subject is not "type(scope): imperative, lower case"'],
  ['feat(shop): Sell apples', 'the subject is not "type(scope): imperative, lower case"'],
  [`fix(shop): ${'a'.repeat(62)}`, 'the subject has 73 characters, not 72'],
  ['feat(shop): sell apples and pears', '"and" in the subject: make two commits'],
  ['feat(shop): sell apples.', 'the subject ends with a full stop'],
])('refuses %s', (subject, problem) => {
  expect(problemsOfMessage(subject + body)).toEqual([problem])
})

it.each(['feat(shop): sell apples', 'feat(shop): sell apples\n\n \n'])(
  'refuses a message without a body',
  (message) => {
    expect(problemsOfMessage(message)).toEqual(['no body says why'])
  },
)

/** A repository with a commit for each message. */
function repositoryOf(...messages: readonly string[]) {
  const root = mkdtempSync(join(tmpdir(), 'commits-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: root,
      stdio: 'ignore',
    })
  git('init', '--quiet')
  for (const message of messages) git('commit', '--quiet', '--allow-empty', '--message', message)
  return { root, git }
}

it('names the commits since the base that break a rule, the oldest first', () => {
  const { root } = repositoryOf('start', 'one', `feat(shop): sell apples${body}`, `fix(shop): weigh and pack${body}`)
  expect(checkCommits(root, 'HEAD~3')?.map((problem) => problem.replace(/^\w+ /, ''))).toEqual([
    'one: the subject is not "type(scope): imperative, lower case"',
    'one: no body says why',
    'fix(shop): weigh and pack: "and" in the subject: make two commits',
  ])
})

it('leaves merges alone', () => {
  const { root, git } = repositoryOf('start', `feat(shop): sell apples${body}`)
  git('branch', 'apples')
  git('reset', '--quiet', '--hard', 'HEAD~1')
  git('commit', '--quiet', '--allow-empty', '--message', `feat(shop): sell pears${body}`)
  git('merge', '--quiet', '--no-ff', '--message', 'Merge apples', 'apples')
  expect(checkCommits(root, 'apples~1')).toEqual([])
})

it('checks nothing in a clone that has not got the base', () => {
  const { root } = repositoryOf('one', 'two')
  const shallow = mkdtempSync(join(tmpdir(), 'commits-'))
  onTestFinished(() => rmSync(shallow, { recursive: true }))
  execFileSync('git', ['clone', '--quiet', '--depth=1', `file://${root}`, shallow])
  expect(checkCommits(shallow, 'HEAD~1')).toBeUndefined()
})

it('checks nothing in a folder that is no repository', () => {
  const folder = mkdtempSync(join(tmpdir(), 'commits-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  expect(checkCommits(folder, 'HEAD~1')).toBeUndefined()
})
