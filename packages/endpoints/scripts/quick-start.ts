import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { expectEqual } from './empty-folders.ts'

/** The module of the quick start in the README, which a test compares with it. */
export const quickStart = `import { Controller } from "@trestle/endpoints";
export class Default extends Controller {            // answers /
  async GET() { return "Default handler"; }
  async POST({ name }: { name: string }) { return \`hello \${name}\`; }
}
export class Foo extends Controller {                // answers /foo
  async GET() { return "Foo handler"; }
}
`
/** The module of the quick start without its one type, for runtimes that run no TypeScript. */
export const quickStartInJavaScript = quickStart.replace(': { name: string }', '')

/** The quick start, asked as the README asks it. @throws Error that shows both when an answer differs */
export async function askQuickStart(ask: (path: string, init?: RequestInit) => Promise<Response>): Promise<void> {
  const form = new URLSearchParams({ name: 'Awesome you' })
  expectEqual(await (await ask('/')).text(), '"Default handler"')
  expectEqual(await (await ask('/foo')).text(), '"Foo handler"')
  expectEqual(await (await ask('/', { method: 'POST', body: form })).text(), '"hello Awesome you"')
}

/** Waits until `endpoints` listens. Returns its URL. @throws Error when the program ends before, with what it has said */
export async function listening(child: ChildProcess): Promise<string> {
  let said = ''
  for (;;) {
    const [data] = await Promise.race([
      once(child.stdout ?? child, 'data'),
      once(child, 'exit').then(() => [undefined]),
    ])
    if (data === undefined) throw new Error(`endpoints ended: ${said}`)
    said += String(data)
    const url = /^Listening on (\S+)$/m.exec(said)?.[1]
    if (url !== undefined) return url
  }
}
