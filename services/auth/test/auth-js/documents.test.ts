import { readFileSync } from 'node:fs'
import { afterAll, expect, it } from 'vitest'
import { z } from 'zod'
import { openClientService } from './client-service.ts'

// Examples of documents that use the published client, run as they are written.

const service = await openClientService()
afterAll(() => service.close())

const Tokens = z.object({ access_token: z.string(), refresh_token: z.string() }).partial()

function documentOf(path: string): string {
  return readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8')
}

/** Runs the TypeScript of a document, with clients of the service under test. @returns what it printed */
async function runExample(document: string): Promise<readonly unknown[]> {
  const [, code = ''] = /^```ts\nimport \{ AuthClient \} from '@supabase\/auth-js'\n(.*?)^```$/ms.exec(document) ?? []
  const printed: unknown[] = []
  const names = ['AuthClient', 'codeOfMail', 'console']
  const example = new Function(...names, `return (async () => {${code}})()`)
  const open = function AuthClient({ url }: { readonly url: string }) {
    expect(url).toBe('http://localhost:8081')
    return service.newClient()
  }
  const codeOfMail = async (email: string) => (await service.readMail(email)).code
  await example(open, codeOfMail, { log: (line: unknown) => printed.push(line) })
  return printed
}

it('README.md signs a user up, in and out', async () => {
  expect(await runExample(documentOf('README.md'))).toEqual([expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/)])
})

it('the quick start signs a user in, by curl and by the client', async () => {
  const document = documentOf('docs/quick-start/sign-in-a-user.md')
  const known: Record<string, string | undefined> = {}
  const commands = [...document.matchAll(/^curl '?localhost:8081([^\s']+)'?( .*)?$/gm)]
  for (const [, path = '', options = ''] of commands) {
    if (options.includes('<code>')) known.code = (await service.readMail('quick@example.com')).code
    const filled = options.replaceAll(/<(\w+)>/g, (_, name: string) => known[name] ?? expect.fail(name))
    const [, name = '', value = ''] = /-H '([^:]+): ([^']+)'/.exec(filled) ?? []
    const body = / -d '(.*)'$/.exec(filled)?.[1]
    const answer = await service.app.inject({
      method: body === undefined ? 'GET' : 'POST',
      url: path,
      headers: { [name]: value },
      ...(body === undefined ? {} : { payload: body }),
    })
    expect([path, answer.statusCode]).toEqual([path, 200])
    Object.assign(known, Tokens.parse(answer.json()))
  }
  expect(commands).toHaveLength(5)
  expect(await runExample(document)).toEqual(['quick@example.com'])
})
