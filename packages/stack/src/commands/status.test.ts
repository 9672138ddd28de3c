import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { parseEnv, stripVTControlCharacters } from 'node:util'
import { portOf } from '@trestle/testing/free-port.ts'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findCommandLine, releasePidFile, writePidFile } from '../processes/process-identity.ts'
import { planStack } from '../settings/plan.ts'
import { createFolders } from '../stack.ts'
import { StackFailure } from '../stack-failure.ts'
import { removeStatus, writeStatus } from '../status/status-file.ts'
import { showLogs } from './logs.ts'
import { printStatus, type StatusFormat } from './status.ts'

removeFoldersAtEnd()

const root = createFolder()
const plan = planStack({ root, program: '', env: {}, names: [], isWatched: false })
/** The first statuses of a path, with side effects. After them, the path responds normally. */
const earlier = new Map<string, (() => number)[]>()
const service = createServer((request, response) => {
  const status = earlier.get(request.url ?? '')?.shift()
  response.writeHead(status?.() ?? (request.url?.endsWith('busy/ready') ? 404 : 200)).end()
})
let url = ''
beforeAll(async () => {
  service.listen(0, '127.0.0.1')
  await once(service, 'listening')
  url = `http://localhost:${portOf(service)}`
  createFolders(plan)
  // The process of this test takes the place of the stack.
  writePidFile(join(plan.runDirectory, 'stack.pid'), {
    pid: process.pid,
    program: (await findCommandLine(process.pid)) ?? '',
  })
})
beforeEach(() => writeStatus(plan, { INVENTORY_URL: url, DB_URL: 'postgres://x' }))
afterAll(() => void service.close())

const context = (lines: string[] = [], folder = root) => ({
  root: folder,
  program: '',
  env: {},
  say: (line: string) => void lines.push(stripVTControlCharacters(line)),
})

async function print(format: StatusFormat): Promise<readonly string[]> {
  const lines: string[] = []
  await printStatus(context(lines), format)
  return lines
}

describe('status', () => {
  it('prints the addresses of a running stack for people, for a shell and for programs', async () => {
    expect(await print('json')).toEqual([JSON.stringify({ INVENTORY_URL: url, DB_URL: 'postgres://x' }, null, 2)])
    expect(await print('env')).toEqual([`export INVENTORY_URL='${url}'\nexport DB_URL='postgres://x'`])
    const lines = await print('pretty')
    expect(lines).toContain(`  inventory   ${url}   docs ${url}/docs`)
    expect(lines.at(-1)).toBe(`Trestle is running (process ${process.pid})`)
  })

  it('prints variables that programs of a shell see after eval, and that Node reads by --env-file', async () => {
    const status = { INVENTORY_URL: url, DB_URL: 'postgres://x?options=-c%20a=b&$HOME' }
    writeStatus(plan, status)
    const text = (await print('env')).join('\n')
    const script = 'eval "$1"; exec "$2" -p "JSON.stringify([process.env.INVENTORY_URL, process.env.DB_URL])"'
    const printed = execFileSync('sh', ['-c', script, 'sh', text, process.execPath], { encoding: 'utf8' })
    expect(JSON.parse(printed)).toEqual([status.INVENTORY_URL, status.DB_URL])
    expect(parseEnv(text)).toEqual(status)
  })

  it.each(['INVENTORY_URL', 'CONSOLE_URL'])('names what is not ready by its %s', async (name) => {
    writeStatus(plan, { [name]: `${url}/busy` })
    const late = `but not ready: see ${url}/busy/ready, and npm start -- logs`
    expect((await print('pretty')).at(-1)).toBe(`Trestle is running (process ${process.pid}), ${late}`)
  })

  it('says that nothing runs, or that a start is under way', async () => {
    await expect(printStatus(context([], createFolder()), 'json')).rejects.toEqual(
      new StackFailure(['Trestle is not running. Start it with: npm start']),
    )
    removeStatus(plan)
    await expect(print('json')).rejects.toEqual(
      new StackFailure(['Trestle is still starting, or stopping. Ask again in a moment.']),
    )
  })
})

describe('status --wait', () => {
  /** Prepares a stack that has not started yet, and a `status --wait` that waits for it. */
  function waitForNew(path: string, waitMs = 20_000) {
    const folder = createFolder()
    const lines: string[] = []
    const later = planStack({ root: folder, program: '', env: {}, names: [], isWatched: false })
    createFolders(later)
    const pidFile = join(later.runDirectory, 'stack.pid')
    const begin = async () => {
      writePidFile(pidFile, { pid: process.pid, program: (await findCommandLine(process.pid)) ?? '' })
      writeStatus(later, { INVENTORY_URL: `${url}${path}` })
    }
    return { lines, begin, pidFile, printed: printStatus(context(lines, folder), 'json', waitMs) }
  }

  it('prints when a start that begins later is ready', async () => {
    const unready = [() => 503, () => 503]
    earlier.set('/slow/ready', unready)
    const { lines, begin, printed } = waitForNew('/slow')
    await begin()
    await printed
    expect(lines).toEqual([JSON.stringify({ INVENTORY_URL: `${url}/slow` }, null, 2)])
    expect(unready).toEqual([])
  })

  it('fails when the start ends before it is ready', async () => {
    const { begin, pidFile, printed } = waitForNew('/failing')
    const end = () => {
      releasePidFile(pidFile)
      return 503
    }
    earlier.set('/failing/ready', [end])
    const failed = expect(printed).rejects.toEqual(
      new StackFailure(['Trestle ended before it was ready. The output of its start says why.']),
    )
    await begin()
    await failed
  })

  it('fails when no start is ready in time', async () => {
    await expect(waitForNew('', 150).printed).rejects.toEqual(new StackFailure(['Trestle is not ready after 0.15 s.']))
  })
})

describe('logs', () => {
  const request = { names: [], onlyErrors: false, lineCount: 5, isFollowed: false }

  it('shows the newest lines of what has a log, or of what is named', async () => {
    const lines: string[] = []
    writeFileSync(join(plan.logDirectory, 'inventory.log'), 'one\ntwo\n')
    writeFileSync(join(plan.logDirectory, 'postgres.log'), 'three\n')
    await showLogs(context(lines), { ...request, lineCount: 1 })
    await showLogs(context(lines), { ...request, names: ['postgres'] })
    expect(lines.map((line) => line.trim().split(/ +/))).toEqual([
      ['inventory', 'two'],
      ['postgres', 'three'],
    ])
  })

  it('refuses an unknown name, and a stack that has not run', async () => {
    await expect(showLogs(context(), { ...request, names: ['auht'] })).rejects.toEqual(
      new StackFailure(['There is no log "auht". The logs are inventory, auth, payments, console, postgres.']),
    )
    await expect(showLogs(context(), { ...request, names: ['paymnts'] })).rejects.toEqual(
      new StackFailure([
        'There is no log "paymnts". The logs are inventory, auth, payments, console, postgres. Did you mean payments?',
      ]),
    )
    const empty = createFolder()
    await expect(showLogs(context([], empty), request)).rejects.toEqual(
      new StackFailure([`${join(empty, '.data', 'logs')} has no such log yet. Start the stack first: npm start`]),
    )
  })
})

it('names a folder for data that cannot be written, and the setting that moves it', () => {
  const file = join(createFolder(), 'file')
  writeFileSync(file, '')
  const blocked = planStack({ root: file, program: '', env: {}, names: [], isWatched: false })
  expect(() => createFolders(blocked)).toThrow(
    new StackFailure([
      `${join(file, '.data')} cannot be written (ENOTDIR). Set TRESTLE_DATA_DIRECTORY to a folder that can.`,
    ]),
  )
})
