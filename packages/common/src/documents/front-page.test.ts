import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { renderFrontPage, wantsPage } from './front-page.ts'

const page = {
  title: 'Trestle <auth>',
  about: 'Accounts & `<tokens>`',
  groups: [
    {
      heading: 'Look at',
      links: [
        { label: 'API', href: '/docs?a=1&b=2', about: 'every endpoint' },
        { label: 'services/auth/README.md', about: 'its `README`' },
        { label: 'shop', href: '/shop', about: 'a shop', more: [{ label: 'A&B', href: '/a?b&c' }] },
      ],
    },
  ],
}

describe('renderFrontPage', () => {
  it('escapes texts, shows what is between backticks as code, and a link without an address as a path', () => {
    const { html } = renderFrontPage(page)
    expect(html).toContain('<title>Trestle &lt;auth&gt;</title>')
    expect(html).toContain('<p>Accounts &amp; <code>&lt;tokens&gt;</code></p>')
    expect(html).toContain('<li><a href="/docs?a=1&amp;b=2">API</a><span>every endpoint</span></li>')
    expect(html).toContain(
      '<li><code><span>services/</span><wbr><span>auth/</span><wbr><span>README.md</span></code><span>its <code>README</code></span></li>',
    )
    expect(html).toContain(
      '<li><a href="/shop">shop</a><span>a shop</span><span><a href="/a?b&amp;c">A&amp;B</a></span></li>',
    )
    expect(html).not.toContain('<script>')
  })

  it('allows its own style and script by their digests, and nothing else', () => {
    const { html, headers } = renderFrontPage({ ...page, script: 'document.title = "x"' })
    const digests = [...html.matchAll(/<(style|script)>([\s\S]*?)<\/\1>/g)].map(
      ([, name, text = '']) => `${name}-src 'sha256-${hash('sha256', text, 'base64')}'`,
    )
    expect(headers['content-security-policy']).toBe(
      [
        "default-src 'none'",
        ...digests,
        'img-src data:',
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ].join('; '),
    )
    expect(digests).toHaveLength(2)
    expect(renderFrontPage(page).headers['content-security-policy']).not.toContain('script-src')
  })
})

describe('wantsPage', () => {
  it.each([
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', true],
    ['application/json, TEXT/HTML;q=0.1', true],
    [undefined, false],
    ['', false],
    ['*/*', false],
    ['application/json', false],
    ['text/*', false],
    ['text/html;q=0', false],
    ['text/html; q=0.0', false],
    ['text/html-fragment', false],
    ['application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1', false],
  ])('reads Accept: %s as %s', (accept, wanted) => {
    expect(wantsPage(accept)).toBe(wanted)
  })
})
