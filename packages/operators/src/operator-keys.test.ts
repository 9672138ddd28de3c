import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { findOperatorKey, parseOperatorKeys } from './operator-keys.ts'

const digestOf = (key: string) => createHash('sha256').update(key).digest('hex')
const [one, other] = ['k'.repeat(43), 'l'.repeat(43)]

describe('parseOperatorKeys', () => {
  it('reads names, roles and digests', () => {
    expect(parseOperatorKeys(`desk:support:${digestOf(one)}, finance-1:admin:${digestOf(other)}`)).toEqual([
      { name: 'desk', role: 'support', digest: Buffer.from(digestOf(one), 'hex') },
      { name: 'finance-1', role: 'admin', digest: Buffer.from(digestOf(other), 'hex') },
    ])
  })

  it.each([
    ['no entry', ''],
    ['an entry without a digest', 'desk:support'],
    ['an unknown role', `desk:owner:${digestOf(one)}`],
    ['a name with a space', `front desk:viewer:${digestOf(one)}`],
    ['a digest that is too short', `desk:viewer:${digestOf(one).slice(1)}`],
    ['the key in place of its digest', `desk:viewer:${one}`],
    ['a name that comes twice', `desk:viewer:${digestOf(one)},desk:admin:${digestOf(other)}`],
    ['a key that comes twice', `desk:viewer:${digestOf(one)},floor:admin:${digestOf(one)}`],
  ])('takes no list with %s', (_case, text) => {
    expect(parseOperatorKeys(text)).toBeUndefined()
  })
})

describe('findOperatorKey', () => {
  const keys = parseOperatorKeys(`desk:support:${digestOf(one)},finance:admin:${digestOf(other)}`) ?? []

  it('finds the key whose digest it has', () => {
    expect(findOperatorKey(keys, other)?.name).toBe('finance')
  })

  it.each(['', 'k', digestOf(one), `${one} `])('finds no key for %j', (presented) => {
    expect(findOperatorKey(keys, presented)).toBeUndefined()
  })
})
