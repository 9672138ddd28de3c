import { expect, it } from 'vitest'
import { addressKey, siteKey } from './address-key.ts'

it.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['::ffff:c000:207', '192.0.2.7'],
  ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
  ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
  ['fe80::1%eth0', 'fe80::/64'],
  ['::1', '::/64'],
  ['192.0.2.7:1234', '192.0.2.7'],
  ['[2001:db8:1:2::1]:1234', '2001:db8:1:2::/64'],
  ['[2001:db8:1:2::1]', '2001:db8:1:2::/64'],
  [' 192.0.2.7 ', '192.0.2.7'],
  ['::ffff:192.0.2.7%eth0', '192.0.2.7'],
  ['unknown', 'unknown'],
  ['unknown:1234', 'unknown:1234'],
  ['not:an:address', 'not:an:address'],
  ['', ''],
])('counts the address %j under the key %j', (address, key) => {
  expect(addressKey(address)).toBe(key)
})

it.each([
  ['192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2::1', '2001:db8:1::/48'],
  ['2001:db8:1:3::1', '2001:db8:1::/48'],
  ['2001:db8:2:3::1', '2001:db8:2::/48'],
  ['unknown', 'unknown'],
])('counts %j under the site %j', (address, key) => {
  expect(siteKey(address)).toBe(key)
})
