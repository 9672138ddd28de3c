import { describe, expect, it } from 'vitest'
import { duration, flag, integer, oneOf, port, type Setting, secretBytes, trustedProxies, url } from './setting.ts'

describe('a setting', () => {
  it.each<[string, Setting, unknown]>([
    ['0', port(), 0],
    ['65535', port(), 65_535],
    ['3', integer(3, 5), 3],
    ['5', integer(3, 5), 5],
    ['999999999999999', integer(), 999_999_999_999_999],
    ['true', flag(), true],
    ['1', flag(), true],
    ['t', flag(), true],
    ['YES', flag(), true],
    ['y', flag(), true],
    ['N', flag(), false],
    ['Twilio', oneOf('twilio'), 'twilio'],
    ['AQIDBA==', secretBytes(4), Buffer.from([1, 2, 3, 4])],
    ['2', trustedProxies(), 2],
    ['10.0.0.7, fd00::/8', trustedProxies(), ['10.0.0.7/32', 'fd00::/8']],
  ])('reads the text $0 as the value $2', (value, setting, read) => {
    expect(setting.parse(value)).toEqual(read)
  })

  it.each<[string, Setting, string]>([
    ['65536', port(), 'must be a port between 0 and 65535'],
    ['2', integer(3, 5), 'must be an integer between 3 and 5'],
    ['6', integer(3, 5), 'must be an integer between 3 and 5'],
    ['0', integer(1), 'must be a positive integer'],
    ['1e3', integer(), 'must be an integer of at least 0'],
    ['on', flag(), 'must be true or false'],
    ['ftp://a', url(), 'must be an absolute URL (http:// or https://)'],
    ['twilio ', oneOf('twilio', 'vonage'), 'must be one of twilio, vonage'],
    ['1d', duration(), 'must be a duration such as 300ms, 1.5h, 2h45m, or a number of seconds'],
    ['AQID', secretBytes(4), 'must be base64 of at least 4 bytes'],
    [
      'true',
      trustedProxies(),
      'must be a number of proxies up to 99, or addresses and networks such as 10.0.0.0/8, joined by commas',
    ],
  ])('refuses %j and says what it must be', (value, setting, message) => {
    expect(setting.safeParse(value).error?.issues.map((issue) => issue.message)).toEqual([message])
  })
})
