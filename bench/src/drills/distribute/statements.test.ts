import { describe, expect, it } from 'vitest'
import { endsWith, findLasting, listSegments, listShares, withoutSecrets } from './statements.ts'

const TEXTS = [
  'list',
  'begin',
  'drop',
  'commit',
  'begin',
  'note',
  'commit',
  'list',
  'begin',
  'verify',
  'commit',
  'audit',
]

describe('listSegments', () => {
  it('ends a segment where a transaction ends, and at the end of the run', () => {
    expect(listSegments(TEXTS, [])).toEqual([
      { part: undefined, from: 0, to: 4 },
      { part: undefined, from: 4, to: 7 },
      { part: undefined, from: 7, to: 11 },
      { part: undefined, from: 11, to: 12 },
    ])
  })

  it('gives the last statements that a part sends to the part', () => {
    const verify = { words: ['ledger', 'verify'], texts: ['begin', 'verify', 'commit', 'audit'] }
    const list = { words: ['distribute', '--dry-run'], texts: ['list'] }
    expect(listSegments(TEXTS, [verify, list])).toEqual([
      { part: undefined, from: 0, to: 4 },
      { part: undefined, from: 4, to: 7 },
      { part: ['distribute', '--dry-run'], from: 7, to: 8 },
      { part: ['ledger', 'verify'], from: 8, to: 11 },
      { part: ['ledger', 'verify'], from: 11, to: 12 },
    ])
  })

  it('refuses a part whose statements the run does not have', () => {
    const part = { words: ['migrate', 'drift'], texts: ['list', 'commit'] }
    expect(() => listSegments(TEXTS, [part])).toThrow(
      new Error('no part of the run has the 2 statements of migrate drift'),
    )
  })
})

describe('listShares', () => {
  it('has every statement once', () => {
    expect(listShares(['a', 'b', 'c', 'd', 'e'], 2)).toEqual([
      { from: 0, to: 0 },
      { from: 0, to: 2 },
      { from: 2, to: 4 },
      { from: 4, to: 5 },
    ])
  })

  it('ends the first one with the transaction that changes roles on all servers', () => {
    const make = "SELECT success, result FROM run_command_on_workers('DO $$ ALTER ROLE x LOGIN $$')"
    expect(listShares(['list', make, 'b', 'commit', 'c', 'commit', 'd'], 2)).toEqual([
      { from: 0, to: 4 },
      { from: 4, to: 6 },
      { from: 6, to: 7 },
    ])
  })
})

describe('findLasting', () => {
  const make = "SELECT node, success, result FROM run_command_on_workers('CREATE SEQUENCE x')"

  it('finds the first statement that other servers keep', () => {
    expect(findLasting(['begin', 'commit', 'begin', make, make, 'commit'], { from: 2, to: 6 })).toBe(3)
  })

  it('finds the end of a transaction that leaves nothing before it', () => {
    expect(findLasting(['begin', 'commit', 'begin', make, 'commit'], { from: 0, to: 2 })).toBe(1)
  })
})

it.each([
  ['a run that has them last', ['a', 'b', 'c'], true],
  ['a run that has them earlier', ['b', 'c', 'd'], false],
  ['a run that has the last of them alone', ['c'], false],
])('finds for %s whether it ends with statements', (_name, sent, isEnd) => {
  expect(endsWith(sent, ['b', 'c'])).toBe(isEnd)
})

it('leaves the verifier of a password out, which has another salt each time', () => {
  const text = "ALTER ROLE x LOGIN PASSWORD 'SCRAM-SHA-256$4096:c2FsdA==$a2V5:a2V5'; SELECT 1"
  expect(withoutSecrets(text)).toBe("ALTER ROLE x LOGIN PASSWORD 'SCRAM-SHA-256'; SELECT 1")
})
