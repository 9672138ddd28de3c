import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileGlob } from './glob.ts'
import { isRedirectPermitted, resolveRedirect } from './redirect-allow-list.ts'

const policy = (siteUrl: string, ...globs: string[]) => ({ siteUrl, allowList: globs.map(compileGlob) })
const site = policy('https://app.example.com/start')
const everything = policy('https://app.example.com', '**')

describe('isRedirectPermitted', () => {
  it.each([
    ['https://app.example.com', true],
    ['https://app.example.com/deep?x=1#y', true],
    ['https://app.example.com:8443/p', true],
    ['https://APP.example.com/p', true],
    ['http://app.example.com', false],
    ['https://example.com', false],
    ['https://a.app.example.com', false],
    ['https://app.example.com.evil.test', false],
    ['https://user@app.example.com', false],
    ['https://@app.example.com', false],
    ['https:user@app.example.com', false],
    ['https:///user:secret@app.example.com/', false],
    ['https://app.example.com\\@evil.test', false],
    ['https://app.example.com/\n', false],
    ['https://app.example.com/\u0000', false],
    [' https://app.example.com', false],
    ['//app.example.com', false],
    ['/path', false],
    ['not a url', false],
    ['', false],
  ])('site host: %s is %s', (target, expected) => {
    expect(isRedirectPermitted(target, site)).toBe(expected)
  })

  it('lets http pass when SITE_URL is http', () => {
    const local = policy('http://localhost:3000')
    expect(isRedirectPermitted('http://localhost:5173/cb', local)).toBe(true)
    expect(isRedirectPermitted('https://localhost', local)).toBe(true)
    expect(isRedirectPermitted('myapp://localhost', local)).toBe(false)
  })

  it.each([
    ['javascript:alert(1)', false],
    ['JavaScript://app.example.com/%0aalert(1)', false],
    ['data:text/html,x', false],
    ['vbscript:x', false],
    ['file:///etc/passwd', false],
    ['about:blank', false],
    ['blob:https://app.example.com/x', false],
    ['http://2130706433/', false],
    ['http://0x7f000001/', false],
    ['http://0177.0.0.1/', false],
    ['http://127.1/', false],
    ['http://10.0.0.1/', false],
    ['http://169.254.169.254/', false],
    ['http://[fe80::1]/', false],
    ['http://[::ffff:127.0.0.1]/', false],
    ['http://127.0.0.1:3000/', true],
    ['http://[::1]:3000/', true],
    ['https://ok.test/', true],
    ['https://evil。test/', false],
    ['https://ev%69l.test/', false],
    ['https:evil.test', false],
    ['https:///evil.test', false],
    ['https://under_score.test/', false],
    ['myapp://callback', true],
    ['com.example.app:/callback', true],
    ['myapp://2130706433', false],
  ])('with everything listed: %s is %s', (target, expected) => {
    expect(isRedirectPermitted(target, everything)).toBe(expected)
  })

  it('permits 8 KiB, no more', () => {
    const ofLength = (length: number) => 'https://app.example.com/'.padEnd(length, 'a')
    expect(isRedirectPermitted(ofLength(8_192), site)).toBe(true)
    expect(isRedirectPermitted(ofLength(8_193), site)).toBe(false)
    expect(isRedirectPermitted(ofLength(8_193), everything)).toBe(false)
  })

  it('compares with the list without the fragment', () => {
    const listed = policy('https://app.example.com', 'https://*.preview.test/cb')
    expect(isRedirectPermitted('https://a.preview.test/cb#x', listed)).toBe(true)
    expect(isRedirectPermitted('https://evil.test/#.preview.test/cb', listed)).toBe(false)
  })

  it('never permits a host that the URL parser reads as another than the list does', () => {
    const listed = policy('https://app.example.com', 'https://*.safe.test', 'https://*.safe.test/**')
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab.。/?#@\\:%2e[]_-0'.split('')), maxLength: 12 }), (text) => {
        const target = `https://${text}.safe.test/`
        return !isRedirectPermitted(target, listed) || new URL(target).hostname.endsWith('.safe.test')
      }),
      { numRuns: 2000 },
    )
  })
})

describe('resolveRedirect', () => {
  it('takes the first permitted candidate, else SITE_URL', () => {
    const candidates = [undefined, 'https://evil.test', 'https://app.example.com/a', 'https://app.example.com/b']
    expect(resolveRedirect(candidates, site)).toBe('https://app.example.com/a')
    expect(resolveRedirect(['https://evil.test'], site)).toBe('https://app.example.com/start')
  })
})
