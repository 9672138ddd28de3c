import { describe, expect, it } from 'vitest'
import { createAddressRules } from './address-rules.ts'

const operator = { host: 'gateway.example.com', origin: 'operator' } as const
const data = { host: 'gateway.example.com', origin: 'data' } as const

// ASVS 1.3.6
describe('createAddressRules', () => {
  const rule = createAddressRules([])

  it.each([
    ['93.184.216.34', true],
    ['2606:2800:220:1::1', true],
    ['::ffff:93.184.216.34', true],
    ['64:ff9b::5db8:d822', true],
    ['64:ff9b::a9fe:a9fe', false],
    ['2002:7f00:1::', false],
    ['::7f00:1', false],
    ['fec0::1', false],
    ['192.0.2.1', false],
    ['localhost', false],
    ['', false],
    ['0.0.0.0', false],
    ['10.0.0.1', false],
    ['100.64.0.1', false],
    ['127.0.0.1', false],
    ['169.254.169.254', false],
    ['168.63.129.16', false],
    ['168.63.129.17', true],
    ['100.100.100.200', false],
    ['192.0.0.192', false],
    ['fd20:ce::254', false],
    ['fd00:c1::a9fe:a9fe', false],
    ['0.1.2.3', false],
    ['198.18.0.1', false],
    ['240.0.0.1', false],
    ['64:ff9b:1::808:808', false],
    ['::ffff:0:808:808', false],
    ['::ffff:0.0.0.0', false],
    ['64:ff9b::a83f:8110', false],
    ['172.31.255.255', false],
    ['172.32.0.0', true],
    ['192.168.1.1', false],
    ['224.0.0.1', false],
    ['255.255.255.255', false],
    ['::', false],
    ['::1', false],
    ['fe80::1', false],
    ['fd00:ec2::254', false],
    ['fd12::1', false],
    ['fec0::1', false],
    ['::7f00:1', false],
    ['64:ff9b::7f00:1', false],
    ['2002:7f00:1::', false],
    ['2001:0:7f00:1::', false],
    ['2001:4860:4860::8888', true],
    ['ff02::1', false],
    ['::ffff:127.0.0.1', false],
    ['::ffff:7f00:1', false],
    ['::FFFF:169.254.169.254', false],
    ['0:0:0:0:0:ffff:a00:1', false],
  ])('allows a call to %s: %s', (address, expected) => {
    expect(rule(address, operator)).toBe(expected)
    expect(rule(address, data)).toBe(expected)
  })

  it('allows loopback only if the operator names it', () => {
    expect(rule('127.0.0.1', { host: '127.0.0.1', origin: 'operator' })).toBe(true)
    expect(rule('::1', { host: 'localhost', origin: 'operator' })).toBe(true)
    expect(rule('127.0.0.1', { host: 'localhost', origin: 'data' })).toBe(false)
    expect(rule('10.0.0.1', { host: '10.0.0.1', origin: 'operator' })).toBe(false)
    expect(rule('169.254.169.254', { host: 'localhost', origin: 'operator' })).toBe(false)
  })

  it('allows listed hosts and networks, but never metadata services', () => {
    const listed = createAddressRules(['gateway.example.com', '10.1.0.0/16', 'fd12::1', '169.254.169.254'])
    expect(listed('192.168.0.1', operator)).toBe(true)
    expect(listed('10.1.2.3', { host: 'x', origin: 'operator' })).toBe(true)
    expect(listed('::ffff:10.1.2.3', { host: 'x', origin: 'operator' })).toBe(true)
    expect(listed('10.2.0.1', { host: 'x', origin: 'operator' })).toBe(false)
    expect(listed('fd12::1', { host: 'x', origin: 'data' })).toBe(true)
    expect(listed('169.254.169.254', operator)).toBe(false)
  })
  it.each([
    '169.254.169.254',
    '::ffff:169.254.169.254',
    '64:ff9b::a9fe:a9fe',
    '100.100.100.200',
    '192.0.0.192',
    '168.63.129.16',
    'fd00:ec2::254',
    'fd20:ce::254',
    'fd00:c1::a9fe:a9fe',
    'fe80::1',
    '0.0.0.0',
    '::',
  ])('never allows %s, even if every host and network is listed', (address) => {
    const listed = createAddressRules(['gateway.example.com', '0.0.0.0/0', '::/0'])
    expect(listed('10.2.0.1', operator)).toBe(true)
    expect(listed(address, operator)).toBe(false)
  })
})
