import { describe, expect, it } from 'vitest'
import { isWebhookUrl } from './webhook.ts'

describe('isWebhookUrl', () => {
  it.each([
    ['https://example.com', true],
    ['https://example.com/hooks?a=1', true],
    ['https://example.com:443/', true],
    ['https://example.com:8443/', true],
    ['https://example.com:1024/', true],
    ['https://example.com:65535/', true],
    ['http://example.com:8080/', true],
    ['https://example.com:1023/', false],
    ['https://example.com:22/', false],
    ['https://example.com:80/', false],
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
  ])('%s: %s', (url, expected) => {
    expect(isWebhookUrl(url)).toBe(expected)
  })
})
