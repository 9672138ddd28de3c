import { expect, it } from 'vitest'
import { html } from './html.ts'

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
