import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { type MailApp, openMailApp } from './mail-app.ts'

const Session = z.object({ access_token: z.string(), refresh_token: z.string() })

let main: MailApp
beforeAll(async () => {
  main = await openMailApp()
})
afterAll(() => main.close())

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
/** The curl commands of the first run, with their URL, header and body. */
const commands = [
  ...readme.matchAll(/^curl "\$AUTH_URL(\/[^\s"]*)"(?: -H '([\w-]+): ([^']*)')?(?: -d '(.*)')?$/gm),
].map(([, url = '', header = 'accept', value = '*/*', body]) => ({ url, header, value, body }))

it('every command of the first run succeeds, in the order of the README', async () => {
  const known: Record<string, string> = {}
  const fillIn = (text: string) => text.replace(/<(\w+)>/g, (_all, name: string) => known[name] ?? '')
  const answers: unknown[] = []
  expect(readme.match(/^curl /gm)).toHaveLength(commands.length)
  for (const { url, header, value, body } of commands) {
    const answer = await main.app.inject({
      method: body === undefined ? 'GET' : 'POST',
      url,
      headers: { [header]: fillIn(value) },
      ...(body === undefined ? {} : { payload: fillIn(body) }),
    })
    answers.push([url, answer.statusCode])
    Object.assign(known, Session.safeParse(answer.json()).data)
    if (url === '/signup') known.code = (await main.readMail('ada@example.com')).code
  }
  expect(answers).toEqual([
    ['/signup', 200],
    ['/verify', 200],
    ['/token?grant_type=password', 200],
    ['/user', 200],
    ['/token?grant_type=refresh_token', 200],
  ])
})
