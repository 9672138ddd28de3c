import { expect, it } from 'vitest'
import { breakable, escapeHtml, html } from './html.ts'

// ASVS 1.1.2, 1.2.1, 3.2.2
it('escapes all values except HTML', () => {
  const name = `<b onclick="x">'&'`
  expect(html`<p title="${name}">${name}</p>`.html).toBe(
    '<p title="&lt;b onclick=&quot;x&quot;&gt;&#39;&amp;&#39;">&lt;b onclick=&quot;x&quot;&gt;&#39;&amp;&#39;</p>',
  )
  expect(html`<p>${html`<b>${1}</b>`}${[html`<i>${'<'}</i>`, html`<i></i>`]}${undefined}</p>`.html).toBe(
    '<p><b>1</b><i>&lt;</i><i></i></p>',
  )
})

it('escapes what has a meaning in the content or in an attribute of HTML', () => {
  expect(escapeHtml(`<a href="x" title='y'>&</a>`)).toBe(
    '&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;&lt;/a&gt;',
  )
})

it('lets lines break behind the signs of an address, and escapes it', () => {
  expect(breakable('ada@example.com')).toBe('ada@<wbr>example.<wbr>com')
  expect(breakable('http://x/a?b=<c>&d="')).toBe('http://x/<wbr>a?<wbr>b=<wbr>&lt;c&gt;&amp;<wbr>d=<wbr>&quot;')
})
