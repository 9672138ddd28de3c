import { describe, expect, it } from 'vitest'
import { displayName, sharesSite } from './site.ts'

describe('displayName', () => {
  it.each([
    ['Coffee', 'https://example.com', 'Coffee'],
    [null, 'https://example.com:8443/shop', 'example.com:8443'],
    [null, 'example.com/shop', 'example.com/shop'],
    [null, 'example.com', 'example.com'],
    [null, '', ''],
    [null, 'https://müller.example', 'müller.example'],
    [null, 'https://xn--mller-kva.example:8443/shop', 'müller.example:8443'],
    [null, 'Müller.example', 'müller.example'],
    [null, 'https://почта.бел', 'почта.бел'],
    [null, 'https://почта.example', 'xn--80a1acny.example'],
    [null, 'https://\u0430pple.example', 'xn--pple-43d.example'],
    [null, '\u0430pple.example', 'xn--pple-43d.example'],
    [null, 'https://paypa\u0131.example', 'xn--paypa-r4a.example'],
    [null, 'https://αβγ.ελ', 'αβγ.ελ'],
    [null, 'https://日本語.example', '日本語.example'],
    [null, 'https://日本a.example', 'xn--a-jn6bt1b.example'],
    [null, 'https://łódź.example', 'łódź.example'],
  ])('of the name %j and the website %j is %j', (name, website, shown) => {
    expect(displayName(name, website)).toBe(shown)
  })
})

describe('sharesSite', () => {
  it.each([
    ['https://example.com/back', 'https://example.com'],
    ['https://example.com:8443/back', 'example.com/shop'],
    ['http://pay.example.com/', 'https://www.example.com/shop'],
    ['https://example.com', 'https://www.example.com'],
    ['https://EXAMPLE.com', 'Example.COM'],
    ['http://localhost:3000/back', 'localhost:8080'],
    ['https://192.0.2.1/back', 'http://192.0.2.1'],
  ])('%s is on the site of %s', (address, website) => {
    expect(sharesSite(address, website)).toBe(true)
  })

  it.each([
    ['https://evil.example/', 'https://example.com'],
    ['https://example.com.evil.example/', 'https://example.com'],
    ['https://notexample.com/', 'https://example.com'],
    ['https://evil.com/', 'com'],
    ['https://example.com@evil.example/', 'https://example.com'],
    ['https://example.com', 'https://shop.example.com'],
    ['no address', 'https://example.com'],
    ['https://example.com', ''],
  ])('%s is not on the site of %s', (address, website) => {
    expect(sharesSite(address, website)).toBe(false)
  })
})
