import { describe, expect, it } from 'vitest'
import { isSchemeAllowed, isWebhookUrl, signDelivery, toWebhookUrl, WEBHOOK_URL_PATTERN } from './webhook.ts'

describe('isWebhookUrl', () => {
  it.each([
    ['https://example.com', true],
    ['https://example.com/hooks?a=1', true],
    ['https://example.com:443/', true],
    ['https://example.com:8443/', true],
    ['https://example.com:1024/', true],
    ['https://example.com:65535/', true],
    ['http://example.com:8080/', true],
    ['http://localhost:3000/hook', true],
    ['https://localhost:10443/hook?a=b,c:d#e', true],
    ['https://203.0.113.9?a', true],
    ['https://[2001:db8::1]:8443/', true],
    ['https://bücher.example/hook', true],
    ['https://example.com:1023/', false],
    ['https://example.com:22/', false],
    ['https://example.com:80/', false],
    ['https://example.com:65536/', false],
    ['https://exa mple.com/', false],
    ['http://example.com/', false],
    ['http://example.com:443/', false],
    ['https://user@example.com/', false],
    ['https://user:secret@example.com/', false],
    ['https://:secret@example.com/', false],
    ['ftp://example.com:2121/', false],
    ['//example.com', false],
    ['example.com', false],
    ['javascript:alert(1)', false],
    ['', false],
  ])('accepts %s as the URL of a webhook, as its pattern does: %s', (url, expected) => {
    expect([isWebhookUrl(url), new RegExp(WEBHOOK_URL_PATTERN).test(url)]).toEqual([expected, expected])
  })
})

describe('toWebhookUrl', () => {
  it.each([
    ['HTTP://shop.example:8080/x', 'http://shop.example:8080/x'],
    ['http:/shop.example:8080', 'http://shop.example:8080/'],
    ['http:shop.example:8080', 'http://shop.example:8080/'],
    ['http:\\\\shop.example:8080', 'http://shop.example:8080/'],
    ['ht\ttp://shop.example:8080/', 'http://shop.example:8080/'],
    ['HTTPS://Bücher.example:443/hook', 'https://xn--bcher-kva.example/hook'],
    ['example.com', 'example.com'],
  ])('stores %j as %s', (text, stored) => {
    expect(toWebhookUrl(text)).toBe(stored)
  })
})

describe('isSchemeAllowed', () => {
  it.each([
    ['https://shop.example/', false, false, true],
    ['http://shop.example:8080/', true, true, true],
    ['http://shop.example:8080/', true, false, false],
    ['http://shop.example:8080/', false, true, false],
    ['HTTP:shop.example:8080', false, true, false],
  ])('judges %s of a test merchant (%s) where http is allowed (%s): %s', (url, test, allowHttp, expected) => {
    expect(isSchemeAllowed(url, { test, allowHttp })).toBe(expected)
  })
})

describe('signDelivery', () => {
  // The HMAC-SHA-256 of "1700000000.{}" under the keys "secret" and "older", computed with openssl.
  const [newer, older] = [
    'b8569b78799ff9e3cbff0fc2d63a33a2b57f3282abd07c37ae5e8e7d79a5f163',
    'c6476987e659639c112c6200be08d9540007354badac82e98ad84591a0f04063',
  ]

  it('signs time and body with each secret', () => {
    expect(signDelivery(['secret'], 1_700_000_000, '{}')).toBe(`t=1700000000,v1=${newer}`)
    expect(signDelivery(['secret', 'older'], 1_700_000_000, '{}')).toBe(`t=1700000000,v1=${newer},v1=${older}`)
  })

  it.each([
    [1_700_000_001, '{}'],
    [1_700_000_000, '{ }'],
  ])('differs for %d and %s', (time, body) => {
    expect(signDelivery(['secret'], time, body)).not.toContain(newer)
  })
})
