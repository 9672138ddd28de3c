import { describe, expect, it } from 'vitest'
import { createAddressReader, parseTrustedProxies, type TrustedProxies } from './trusted-proxies.ts'

describe('parseTrustedProxies', () => {
  it.each([
    ['0', 0],
    ['2', 2],
    [' 10 ', 10],
    ['10.0.0.7', ['10.0.0.7/32']],
    ['10.0.0.0/8, 192.168.1.0/24', ['10.0.0.0/8', '192.168.1.0/24']],
    ['2001:DB8::1,fd00::/8', ['2001:db8::1/128', 'fd00::/8']],
    ['::ffff:10.0.0.0/104', ['10.0.0.0/8']],
    ['::ffff:10.0.0.7', ['10.0.0.7/32']],
  ])('reads %j as the networks %j', (text, trusted) => {
    expect(parseTrustedProxies(text)).toEqual(trusted)
  })

  it.each([
    '100',
    '-1',
    '1.5',
    'true',
    'loopback',
    'proxy.example.com',
    '10.0.0.0/33',
    '10.0.0.0/08',
    '10.0.0.0/8/8',
    '10.1/16',
    '10.0.0.0/8,',
    '10.0.0.0/8;10.1.0.0/16',
    'fe80::1%eth0',
    '2001:db8::/129',
    // With these networks every client could choose its address.
    '0.0.0.0/0',
    '::/0',
    '::ffff:0.0.0.0/96',
  ])('refuses %j', (text) => {
    expect(parseTrustedProxies(text)).toBeUndefined()
  })
})

// ASVS 4.1.3, 15.3.4
describe('createAddressReader', () => {
  const PROXIES = ['10.0.0.0/8', 'fd00::/8']
  const PEER: TrustedProxies = 'private peer'

  it.each([
    // [trusted, socket, X-Forwarded-For, address]
    [0, '192.0.2.1', '1.1.1.1', '192.0.2.1'],
    [0, '::ffff:192.0.2.1', undefined, '192.0.2.1'],
    [0, undefined, '1.1.1.1', ''],
    [1, '10.0.0.1', undefined, '10.0.0.1'],
    [1, '10.0.0.1', '', '10.0.0.1'],
    [1, '10.0.0.1', '1.1.1.1, 198.51.100.7', '198.51.100.7'],
    [2, '10.0.0.1', '1.1.1.1, 198.51.100.7, 10.0.0.2', '198.51.100.7'],
    // There are fewer proxies than trusted, so the request did not pass through all of them.
    [5, '10.0.0.1', '198.51.100.7', '198.51.100.7'],
    // A Unix socket has no address. It is trusted if the setting is a number of hops.
    [1, undefined, '198.51.100.7', '198.51.100.7'],
    [PROXIES, '192.0.2.1', '1.1.1.1', '192.0.2.1'],
    [PROXIES, undefined, '1.1.1.1', ''],
    [PROXIES, '10.0.0.1', '1.1.1.1, 198.51.100.7', '198.51.100.7'],
    [PROXIES, '10.0.0.1', '1.1.1.1, 198.51.100.7, 10.9.9.9, fd00::2', '198.51.100.7'],
    [PROXIES, '::ffff:10.0.0.1', '198.51.100.7, ::ffff:10.0.0.2', '198.51.100.7'],
    [PROXIES, 'fd00::1', '2001:DB8::7', '2001:db8::7'],
    // All of the addresses are proxies, so the farthest one is the client.
    [PROXIES, '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    // Ports, brackets and zones.
    [PROXIES, '10.0.0.1', '198.51.100.7:51234, 10.0.0.2:443', '198.51.100.7'],
    [PROXIES, '10.0.0.1', '[2001:db8::7]:51234, [fd00::2]:443', '2001:db8::7'],
    [PROXIES, '10.0.0.1', 'fe80::7%eth0', 'fe80::7'],
    // Only the peer is trusted, and only if its address is private.
    [PEER, '172.18.0.3', '1.1.1.1, 198.51.100.7', '198.51.100.7'],
    [PEER, '172.18.0.3', '1.1.1.1, 172.18.0.2', '172.18.0.2'],
    [PEER, 'fd00::3', '198.51.100.7', '198.51.100.7'],
    [PEER, '127.0.0.1', '198.51.100.7', '198.51.100.7'],
    [PEER, '203.0.114.9', '198.51.100.7', '203.0.114.9'],
    [PEER, '172.18.0.3', undefined, '172.18.0.3'],
    [PEER, undefined, '198.51.100.7', ''],
    // Empty entries are skipped.
    [1, '10.0.0.1', '1.1.1.1, , 198.51.100.7 ,, ', '198.51.100.7'],
    [1, '10.0.0.1', ' , ,', '10.0.0.1'],
    // An entry that is not an address ends the search. No entry to its left is used.
    [2, '10.0.0.1', '198.51.100.7, unknown', '10.0.0.1'],
    [PROXIES, '10.0.0.1', '198.51.100.7, evil, 10.0.0.2', '10.0.0.2'],
    [PROXIES, '10.0.0.1', '198.51.100.7, "10.0.0.2"', '10.0.0.1'],
    [PROXIES, '10.0.0.1', '198.51.100.7, 10.0.0.256', '10.0.0.1'],
    [PROXIES, '10.0.0.1', '198.51.100.7, 010.0.0.2', '10.0.0.1'],
    [PROXIES, '10.0.0.1', '198.51.100.7; 10.0.0.2', '10.0.0.1'],
  ])('trusting %j, the client of %j with the header %j is %j', (trusted, socket, header, address) => {
    expect(createAddressReader(trusted)(socket, header)).toBe(address)
  })

  it('reads only the right end of a header of the maximum size', () => {
    const header = `${'1.1.1.1,'.repeat(2_000)}198.51.100.7`
    expect(createAddressReader(['10.0.0.0/8'])('10.0.0.1', header)).toBe('198.51.100.7')
  })
})
