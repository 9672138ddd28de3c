import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { COPY_SCRIPT } from './command-block.ts'
import { renderGuide } from './home-page.ts'
import { QUICK_STARTS } from './status/banner.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')

const readGuide = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const plainOf = (html: string) =>
  html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')

it.each(QUICK_STARTS.map(({ path }) => path))('shows %s with its headings and its examples', async (path) => {
  const html = (await renderGuide(ROOT, `/${path}`))?.html ?? ''
  const guide = readGuide(path)
  expect(/<h1>(.*?)<\/h1>/.exec(html)?.[1]).toBe(/^# (.*)/.exec(guide)?.[1])
  const headings = [...html.matchAll(/<h[2-4] id="[\w-]+">(.*?)<\/h/g)].map(([, text = '']) => text)
  expect(headings).toEqual([...guide.matchAll(/^##+ (.*)$/gm)].map(([, text]) => text))
  const shown = html.replaceAll(/<\/?span>/g, '')
  const examples = [...shown.matchAll(/<pre><code id="([\w-]+)">(.*?)<\/code>/gs)]
  expect(examples.map(([, , text = '']) => plainOf(text))).toEqual(
    [...guide.matchAll(/^```\w+\n(.*?)\n```$/gms)].map(([, text]) => text),
  )
  const copied = [...html.matchAll(/<button class="quiet" data-copy="([\w-]+)" hidden>Copy<\/button>/g)]
  expect(copied.map(([, id]) => id)).toEqual(examples.map(([, id]) => id))
})

it('lets the script that copies examples run, and no other', async () => {
  const { html = '', headers } = (await renderGuide(ROOT, '/docs/quick-start/reserve-stock.md')) ?? {}
  const scripts = [...html.matchAll(/<script>(.*?)<\/script>/gs)].map(([, script = '']) => script)
  expect(scripts).toEqual([COPY_SCRIPT])
  expect(headers?.['content-security-policy']).toContain(
    `; script-src 'sha256-${hash('sha256', COPY_SCRIPT, 'base64')}'; `,
  )
})

it('every link of a guide to another document leads to its heading', async () => {
  const html = (await renderGuide(ROOT, '/docs/quick-start/reserve-stock.md'))?.html ?? ''
  const links = [...html.matchAll(/<a href="([^"]+\.md)(?:#([\w-]+))?"/g)]
  const answers = await Promise.all(
    links.map(async ([, path = '', anchor]) => {
      const page = await renderGuide(ROOT, new URL(path, 'http://localhost/docs/quick-start/').pathname)
      return page?.html.includes(anchor === undefined ? '<h1>' : ` id="${anchor}"`)
    }),
  )
  expect(answers.length).toBeGreaterThan(2)
  expect(new Set(answers)).toEqual(new Set([true]))
})

it.each([
  '/docs/none.md',
  '/../README.md',
  '/%2e%2e/README.md',
  '/package.json',
  '/.github/README.md',
  '/node_modules/zod/README.md',
])('shows nothing at %s', async (path) => {
  expect(await renderGuide(ROOT, path)).toBeUndefined()
})
