import { describe, expect, it } from 'vitest'
import { readClientAddress } from './client-address.ts'

const plain = { forwardedForEnabled: false, limitHeader: undefined }
const read = (
  config: typeof plain | { forwardedForEnabled: boolean; limitHeader: string },
  headers = {},
  socket = '9.9.9.9',
) => readClientAddress(config, { socket, header: (name) => new Map<string, string>(Object.entries(headers)).get(name) })

describe('readClientAddress', () => {
  it('believes the socket alone', () => {
    expect(read(plain, { 'auth-forwarded-for': '1.1.1.1' }, '::ffff:9.9.9.9')).toEqual({
      limitKey: undefined,
      trusted: '9.9.9.9',
      audit: '9.9.9.9',
    })
  })

  it('takes X-Forwarded-For for the trail only', () => {
    expect(read(plain, { 'x-forwarded-for': 'unknown, 2001:db8::1, 1.1.1.1' })).toEqual({
      limitKey: undefined,
      trusted: '9.9.9.9',
      audit: '2001:db8::1',
    })
  })

  it('drops the zone of an address, which no database takes', () => {
    expect(read(plain, { 'x-forwarded-for': 'fe80::1%eth0' }, 'fe80::2%eth0')).toEqual({
      limitKey: undefined,
      trusted: 'fe80::2',
      audit: 'fe80::1',
    })
  })

  it('takes the first value of Auth-Forwarded-For where that is on', () => {
    const config = { forwardedForEnabled: true, limitHeader: 'x-real-ip' }
    const headers = { 'auth-forwarded-for': ' 1.1.1.1 , 2.2.2.2', 'x-forwarded-for': '3.3.3.3', 'x-real-ip': '4.4.4.4' }
    expect(read(config, headers)).toEqual({ limitKey: '1.1.1.1', trusted: '1.1.1.1', audit: '1.1.1.1' })
    expect(read(config, { ...headers, 'auth-forwarded-for': 'evil' })).toEqual({
      limitKey: '4.4.4.4',
      trusted: '9.9.9.9',
      audit: '3.3.3.3',
    })
  })

  it.each([
    ['1.1.1.1, 2.2.2.2', '1.1.1.1'],
    ['any key', 'any key'],
    // A customer of IPv6 has a whole network of addresses.
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    [' ', undefined],
    ['', undefined],
  ])('limits by the first part of the header: %j', (value, limitKey) => {
    const config = { forwardedForEnabled: false, limitHeader: 'x-real-ip' }
    expect(read(config, { 'x-real-ip': value })).toMatchObject({ limitKey })
  })
})
