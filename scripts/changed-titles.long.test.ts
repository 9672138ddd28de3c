import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { followTitles, pairTests, testsOf } from './changed-titles.ts'

it('puts the titles of groups before the title of a test', () => {
  const text = `
describe('POST /items', () => {
  describe('with stock', () => {
    it('201: adds an item', async () => {})
    it.each([1, 2])('400: refuses %s', (count) => {})
  })
  it.skipIf(isSlow)(\`409: refuses \${name}\`, () => {})
})
test('alone', () => {})
test('alone', () => {})
item('is no test')
`
  expect(testsOf('a.test.ts', text).map(({ path, title }) => [path, title])).toEqual([
    ['a.test.ts', 'POST /items > with stock > 201: adds an item'],
    ['a.test.ts', 'POST /items > with stock > 400: refuses %s'],
    ['a.test.ts', `POST /items > 409: refuses $${'{name}'}`],
    ['a.test.ts', 'alone'],
    ['a.test.ts', 'alone (2)'],
  ])
})

const titled = (path: string, title: string, body = '') => ({ path, title, body })

it('pairs a test with one of its own file before one of another', () => {
  const [mine, other] = [titled('a.test.ts', 'adds'), titled('b.test.ts', 'adds')]
  expect(pairTests([other, mine], [mine, other])).toEqual([
    { before: other, after: other },
    { before: mine, after: mine },
  ])
})

it('pairs a reworded test by its body, and leaves a test with another body alone', () => {
  const before = titled('a.test.ts', 'knows the password', 'expect(verify(hash, password)).toBe(true)')
  const reworded = titled('b.test.ts', 'matches its own hash', 'expect(await verify(hash, password)).toBe(true)')
  const strange = titled('a.test.ts', 'adds an item', "expect(add('apple')).toEqual([1, 2, 3])")
  expect(pairTests([before], [strange, reworded])).toEqual([
    { before, after: reworded },
    { before: undefined, after: strange },
  ])
  expect(pairTests([before], [strange])).toEqual([
    { before, after: undefined },
    { before: undefined, after: strange },
  ])
})

it('follows titles through commits that move, reword, remove, bring back and add tests', () => {
  const root = mkdtempSync(join(tmpdir(), 'titles-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const commit = (subject: string, files: Readonly<Record<string, string | undefined>>) => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      if (text === undefined) rmSync(join(root, path))
      else writeFileSync(join(root, path), text)
    }
    git('add', '--all')
    git('-c', 'user.name=T', '-c', 'user.email=t@example.test', '-c', 'commit.gpgsign=false', 'commit', '-qm', subject)
    return git('rev-parse', '--short', 'HEAD')
  }
  const [add, buy, sell] = [
    "it('adds', () => { expect(add(1, 2)).toBe(3) })\n",
    "it('buys', () => { expect(buy(cart).items).toEqual([apple]) })\n",
    "it('sells', () => { expect(sell(stock, 'pear')).toThrow('sold out') })\n",
  ]
  git('init', '-q')
  const from = commit('first', { 'a.test.ts': add + buy + sell, 'b.test.ts': "it('stays', () => {})\n", 'c.ts': buy })
  commit('move', { 'a.test.ts': add + sell, 'shop/c.test.ts': buy })
  commit('reword', { 'shop/c.test.ts': buy.replace('buys', '201: puts an item into the cart') })
  commit('lose', { 'a.test.ts': sell })
  commit('bring back', { 'd.test.ts': add })
  const last = commit('remove', {
    'a.test.ts': undefined,
    'd.test.ts': `${add}it('new', () => { expect(1).toBe(x) })\n`,
  })
  const { removed, renamed, added, kept } = followTitles(root, from)
  expect({ removed: removed.map(({ test, commit: by }) => [test.title, by]), kept }).toEqual({
    removed: [['sells', `${last} remove`]],
    kept: 2,
  })
  expect(renamed.map((pair) => pair.map(({ path, title }) => `${path}: ${title}`))).toEqual([
    ['a.test.ts: buys', 'shop/c.test.ts: 201: puts an item into the cart'],
  ])
  expect(added.map(({ title }) => title)).toEqual(['new'])
})
