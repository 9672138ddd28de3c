import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  findOperatorKey,
  type OperatorAccess,
  type OperatorActor,
  parseOperatorKeys,
  readOperator,
  readOperatorAddress,
} from './operator.ts'

const key = 'k'.repeat(43)
const digest = createHash('sha256').update(key).digest('hex')
const ann: OperatorActor = { id: '7d1f7c7e-6a53-4b51-b1c7-8a2b0a4f8a01', email: 'ann@example.com', role: 'admin' }
const verified: string[] = []
const access: OperatorAccess = {
  keys: parseOperatorKeys(`desk:support:${digest}`) ?? [],
  verifyToken: async (token) => {
    verified.push(token)
    return token === 'good' ? ann : undefined
  },
}
const ip = '10.0.0.1'
const good = { 'x-trestle-operator-key': key, authorization: 'Bearer good' }
const read = (headers: Readonly<Record<string, string | string[]>>) => readOperator(access, { headers, ip })

describe('readOperator', () => {
  it('the operator has the lower role of key and user', async () => {
    expect(await read(good)).toEqual({ key: 'desk', actor: ann, role: 'support', address: ip })
  })

  it.each([
    ['a key without a token', { 'x-trestle-operator-key': key }],
    ['a token without a key', { authorization: 'Bearer good' }],
    ['a token that is not an operator’s', { ...good, authorization: 'Bearer bad' }],
    ['an unknown key', { ...good, 'x-trestle-operator-key': 'x' }],
    ['two keys', { ...good, 'x-trestle-operator-key': [key, key] }],
    ['a token of another scheme', { ...good, authorization: 'Basic good' }],
  ])('%s names no operator', async (_case, headers) => {
    expect(await read(headers)).toBeUndefined()
  })

  it('a token is verified only beside a known key', async () => {
    verified.length = 0
    await read({ ...good, 'x-trestle-operator-key': 'x' })
    expect(verified).toEqual([])
  })
})

describe('the address that a console tells', () => {
  const told = { 'x-trestle-operator-address': '2001:db8::7' }

  it('is that of the operator', async () => {
    expect((await read({ ...good, ...told }))?.address).toBe('2001:db8::7')
    const linkLocal = { 'x-trestle-operator-address': 'fe80::7%eth0' }
    expect((await read({ ...good, ...linkLocal }))?.address).toBe('fe80::7')
  })

  it('is accepted beside a key without a token, as at a sign-in', () => {
    expect(readOperatorAddress(access.keys, { 'x-trestle-operator-key': key, ...told })).toBe('2001:db8::7')
  })

  it.each([
    ['without a key', told],
    ['with an unknown key', { ...told, 'x-trestle-operator-key': 'x' }],
    ['that is no IP address', { ...good, 'x-trestle-operator-address': 'example.com' }],
    ['that comes twice', { ...good, 'x-trestle-operator-address': ['10.0.0.2', '10.0.0.3'] }],
  ])('an address %s is ignored', (_case, headers) => {
    expect(readOperatorAddress(access.keys, headers)).toBeUndefined()
  })
})

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
