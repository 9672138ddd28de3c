import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileGlob, exactGlob } from './glob.ts'
import { refusedBy, resolveRedirect } from './redirect-allow-list.ts'

const policy = (siteUrl: string, ...globs: string[]) => ({
  siteUrl,
  site: 'host' as const,
  allowList: globs.map(compileGlob),
})
const site = policy('https://app.example.com/start')
const everything = policy('https://app.example.com', '**')
const isPermitted = (...given: Parameters<typeof refusedBy>) => refusedBy(...given) === undefined

describe('refusedBy', () => {
  // ASVS 1.2.2, 3.7.2
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
    expect(isPermitted(target, site)).toBe(expected)
  })

  // ASVS 10.4.1
  it.each([
    ['https://app.example.com/start', true],
    ['https://app.example.com/start/', false],
    ['https://app.example.com/start#x', false],
    ['https://app.example.com/other', false],
    ['https://app.example.com:8443/cb', false],
    ['https://app.example.com/cb', true],
    ['https://app.example.com/cb#part', false],
    ['https://app.example.com/cb#', false],
    ['https://app.example.com/#/cb', true],
    ['https://app.example.com/', false],
    ['https://app.example.com/cb/', false],
    ['https://app.example.com/cb?x=1', false],
    ['https://APP.example.com/cb', false],
    ['com.example.app:/cb', true],
  ])('whole addresses alone: %s is %s', (target, expected) => {
    const allowList = ['https://app.example.com/cb', 'https://app.example.com/#/cb', 'com.example.app:/cb'].map(
      exactGlob,
    )
    expect(isPermitted(target, { ...site, site: 'address', allowList })).toBe(expected)
  })

  it.each([
    ['http://localhost:3000', 'http://localhost:3000/'],
    ['http://localhost:3000/', 'http://localhost:3000'],
    ['http://10.0.0.7:3000', 'http://10.0.0.7:3000'],
    ['myapp://callback', 'myapp://callback/'],
  ])('beside whole addresses SITE_URL %s permits %s, which browsers read as the same', (siteUrl, target) => {
    const strict = { ...policy(siteUrl), site: 'address' as const }
    expect(refusedBy(target, strict)).toBeUndefined()
    expect(refusedBy(`${target}x`, strict)).toBeDefined()
    expect(refusedBy(`${siteUrl}?next`, strict)).toBeDefined()
  })

  it('permits http when SITE_URL is http', () => {
    const local = policy('http://localhost:3000')
    expect(isPermitted('http://localhost:5173/cb', local)).toBe(true)
    expect(isPermitted('https://localhost', local)).toBe(true)
    expect(isPermitted('myapp://localhost', local)).toBe(false)
  })

  it.each([
    ['http://localhost:3000/deep?x=1#y', true],
    ['http://localhost', true],
    ['http://localhost:5173', true],
    ['https://localhost:3000', false],
    ['http://LOCALHOST:3000', false],
    ['http:localhost:3000', false],
    ['http:///localhost:3000', false],
    ['http://localhost:3000@evil.test', false],
    ['http://localhost.evil.test:3000', false],
    ['http://127.0.0.1', true],
    ['https://127.0.0.2:8443/cb', true],
    ['exp://127.0.0.1:19000/--/cb', true],
    ['http://[::1]:3000/cb', true],
    ['http://[::2]:3000/cb', false],
    ['http://127.1:3000/cb', false],
    ['http://0x7f000001/cb', false],
    ['javascript://127.0.0.1/%0aalert(1)', false],
    ['http://10.0.0.1/cb', false],
  ])('scheme, host and port of SITE_URL, and loopback: %s is %s', (target, expected) => {
    expect(isPermitted(target, { ...policy('http://localhost:3000'), site: 'origin' })).toBe(expected)
  })

  it.each([
    ['https://app.example.com', 'https://app.example.com/cb', true],
    ['https://app.example.com', 'https://app.example.com:8443/cb', false],
    ['https://app.example.com:8443', 'https://app.example.com:8443/cb', true],
    ['https://app.example.com:8443', 'https://app.example.com/cb', false],
    ['https://app.example.com', 'http://app.example.com/cb', false],
    ['http://app.example.com', 'https://app.example.com/cb', false],
    ['myapp://home', 'myapp://home/cb', true],
    ['myapp://home', 'myapp://other', false],
  ])('by scheme, host and port of %s: %s is %s', (siteUrl, target, expected) => {
    expect(isPermitted(target, { ...policy(siteUrl), site: 'origin' })).toBe(expected)
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
    expect(isPermitted(target, everything)).toBe(expected)
  })

  it.each([
    ['not-absolute', ''],
    ['not-absolute', '//evil.test'],
    ['too-long', 'https://app.example.com/'.padEnd(8_193, 'x')],
    ['unsafe-characters', 'https://app.example.com\\@evil.test'],
    ['forbidden-scheme', 'javascript:alert(1)'],
    ['userinfo', 'https://app.example.com@evil.test'],
    ['ip-address', 'https://10.0.0.1/'],
    ['disguised-host', 'https://evil。test/'],
    ['dot-segments', 'https://evil.test/../'],
    ['not-listed', 'https://evil.test/'],
    [undefined, 'https://app.example.com/'],
  ])('names the rule: %s', (rule, target) => {
    expect(refusedBy(target, site)).toBe(rule)
  })

  it('permits a redirect of 8 KiB and refuses a longer one', () => {
    const ofLength = (length: number) => 'https://app.example.com/'.padEnd(length, 'a')
    expect(isPermitted(ofLength(8_192), site)).toBe(true)
    expect(isPermitted(ofLength(8_193), site)).toBe(false)
    expect(isPermitted(ofLength(8_193), everything)).toBe(false)
  })

  // A comparison of only the text would miss that browsers resolve dot segments.
  it.each([
    'https://org.host.test/app/../attacker/steal.html',
    'https://org.host.test/app/x/../../attacker',
    'https://org.host.test/app/..',
    'https://org.host.test/app/./x',
    'https://org.host.test/app/%2e%2e/attacker',
    'https://org.host.test/app/%2E%2e/attacker',
    'https://org.host.test/app/.%2E/attacker?x=1',
    'https://org.host.test/app/%2e./attacker#x',
    'https://org.host.test/app/%2e%2e',
    'https://org.host.test/app/%252e%252e/attacker',
    'https://org.host.test/app/..%2fattacker',
    'https://org.host.test/app/%2e%2e%2Fattacker',
    'https://org.host.test/app/..%5cattacker',
    'https://org.host.test/app/..%252fattacker',
    'https://org.host.test/app/x%2f..%2f..%2fattacker',
    'https://org.host.test/app/..;/attacker',
    'https://org.host.test/app/..%3b/attacker',
    'https://org.host.test/app/..%00/attacker',
    'https://org.host.test/app/.%09./attacker',
    'https://org.host.test/app/..%20',
    'app.test://callback/../attacker',
    'app.test:/app/%2e%2e/attacker',
  ])('refuses dot segments, in any encoding: %s', (target) => {
    const listed = policy(
      'https://app.example.com',
      ...['https://org.host.test/app/**', 'https://org.host.test/app/*', 'app.test://callback/**', 'app.test:/app/**'],
    )
    expect(refusedBy(target, listed)).toBe('dot-segments')
  })

  it.each([
    ['https://org.host.test/app/%2e%2e', 'dot-segments'],
    ['https://org.host.test/app/a%2fb', 'not-listed'],
    ['https://org.host.test/app/a%5Cb', 'not-listed'],
    ['https://org.host.test/app/a%252fb', 'not-listed'],
    ['https://org.host.test/app/a%2eb', 'not-listed'],
    ['https://org.host.test/app/a%20b', undefined],
    ['https://org.host.test/app/a?next=%2Fx&v=1%2e2', undefined],
    ['https://org.host.test/lib/a%2fb/c', undefined],
    ['https://org.host.test/deep/a%2fb/c.d', undefined],
    ['https://org.host.test/deep/..x/...', undefined],
  ])('matches no plain or encoded separator with a single *: %s is %s', (target, rule) => {
    const listed = ['https://org.host.test/app/*', 'https://org.host.test/lib/a%2fb/*', 'https://org.host.test/deep/**']
    expect(refusedBy(target, policy('https://app.example.com', ...listed))).toBe(rule)
  })

  it('permits dot segments on the host of SITE_URL', () => {
    expect(isPermitted('https://app.example.com/a/../b', site)).toBe(true)
  })

  // ASVS 1.1.1
  it('never permits an address that a browser or a decoding server resolves outside the listed path', () => {
    const listed = policy('https://app.example.com', 'https://h.test/app/**', 'https://h.test/one/*')
    const part = fc.constantFrom(
      ...'. .. / \\ %2e %2E %2f %5c %252e %252f ; ? # a b a.b %00 %20 // ./ ../ .%2e %2e%2e/ ..%20 %09 %0a app one é'.split(
        ' ',
      ),
    )
    const resolved = (path: string) => new URL(`https://h.test${path.replaceAll('\\', '/')}`).pathname
    const target = fc.tuple(fc.constantFrom('app/', 'one/', 'app', 'one'), fc.array(part, { maxLength: 8 }))
    fc.assert(
      fc.property(target, ([start, parts]) => {
        const text = `https://h.test/${start}${parts.join('')}`
        if (!isPermitted(text, listed)) return true
        const { href, pathname } = new URL(text)
        const readings = [pathname, resolved(decodeURIComponent(pathname)), twice(pathname, resolved)]
        return href.startsWith('https://h.test/') && readings.every((path) => /^\/(app\/|one\/[^/]*$)/.test(path))
      }),
      { numRuns: 5_000 },
    )
  })

  it('judges a redirect without its fragment', () => {
    const listed = policy('https://app.example.com', 'https://*.preview.test/cb')
    expect(isPermitted('https://a.preview.test/cb#x', listed)).toBe(true)
    expect(isPermitted('https://evil.test/#.preview.test/cb', listed)).toBe(false)
  })

  it('never permits a host that the URL parser reads differently from the list', () => {
    const listed = policy('https://app.example.com', 'https://*.safe.test', 'https://*.safe.test/**')
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab.。/?#@\\:%2e[]_-0'.split('')), maxLength: 12 }), (text) => {
        const target = `https://${text}.safe.test/`
        return !isPermitted(target, listed) || new URL(target).hostname.endsWith('.safe.test')
      }),
      { numRuns: 2000 },
    )
  })
})

/** Decodes and resolves a path twice, as a proxy and then a server do. */
function twice(path: string, resolve: (path: string) => string): string {
  return resolve(decodeURIComponent(resolve(decodeURIComponent(path).replaceAll('?', '%3f').replaceAll('#', '%23'))))
}

describe('resolveRedirect', () => {
  const resolve = (header?: string, query?: string, referer?: string) =>
    resolveRedirect(
      [
        { source: 'header', redirectTo: header },
        { source: 'query', redirectTo: query },
        { source: 'referer', redirectTo: referer },
      ],
      site,
    )

  it('takes the first permitted candidate, else SITE_URL', () => {
    const [a, b] = ['https://app.example.com/a', 'https://app.example.com/b']
    expect(resolve(undefined, a, b)).toEqual({ redirectTo: a, refused: undefined })
    expect(resolve('', '', b)).toEqual({ redirectTo: b, refused: undefined })
    expect(resolve()).toEqual({ redirectTo: 'https://app.example.com/start', refused: undefined })
  })

  it('reports the first refused candidate that the request itself names', () => {
    const refused = { source: 'header', rule: 'not-listed', host: 'evil.test:8080' }
    expect(resolve('https://evil.test:8080/x?token=1', 'javascript:x', 'https://app.example.com/b')).toEqual({
      redirectTo: 'https://app.example.com/b',
      refused,
    })
    expect(resolve(undefined, 'javascript:x')).toEqual({
      redirectTo: 'https://app.example.com/start',
      refused: { source: 'query', rule: 'forbidden-scheme', host: undefined },
    })
    expect(resolve(undefined, undefined, 'https://evil.test')).toEqual({
      redirectTo: 'https://app.example.com/start',
      refused: undefined,
    })
  })
})
