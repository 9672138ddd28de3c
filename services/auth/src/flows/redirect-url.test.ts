import { describe, expect, it } from 'vitest'
import { withFormFragment, withFragment, withQuery } from './redirect-url.ts'

describe('withFragment', () => {
  // ASVS 1.2.2
  it.each([
    ['http://h', 'http://h/#a=1&b=x%20y%26'],
    ['http://h/p?q=1', 'http://h/p?q=1#a=1&b=x%20y%26'],
    ['http://h/p#old', 'http://h/p#old#a=1&b=x%20y%26'],
    ['myapp://callback', 'myapp://callback/#a=1&b=x%20y%26'],
  ])('%s', (redirect, expected) => {
    expect(withFragment(redirect, { a: '1', b: 'x y&' })).toBe(expected)
  })
})

describe('withFormFragment', () => {
  it('writes a space as +', () => {
    expect(withFormFragment('http://h', { error: 'access_denied', d: 'a b', sb: '' })).toBe(
      'http://h/#error=access_denied&d=a+b&sb=',
    )
  })

  it.each([
    ['http://h/cb#frag', 'http://h/cb#error=x'],
    ['http://h/cb?q=1#a=b#c', 'http://h/cb?q=1#error=x'],
    ['myapp://callback#frag', 'myapp://callback/#error=x'],
  ])('replaces the fragment of %s', (redirect, expected) => {
    expect(withFormFragment(redirect, { error: 'x' })).toBe(expected)
  })
})

describe('withQuery', () => {
  it.each([
    ['http://h', 'http://h/?code=c'],
    ['http://h/p?x=%20y&code=old&z', 'http://h/p?x=%20y&z&code=c'],
    ['http://h/p?c%6fde=old#f', 'http://h/p?code=c#f'],
    ['http://h/p?toString=1&constructor=2', 'http://h/p?toString=1&constructor=2&code=c'],
  ])('%s', (redirect, expected) => {
    expect(withQuery(redirect, { code: 'c' })).toBe(expected)
  })
})
