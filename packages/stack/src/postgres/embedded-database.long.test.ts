import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@trestle/testing/free-port.ts'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { endProcess, isAlive } from '../processes/process-identity.ts'
import { prepareHome, startDatabase } from './embedded-database.ts'
import { chooseAccount, chooseHome, findBinaries } from './home.ts'
import { findServerState } from './server.ts'

removeFoldersAtEnd()

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client(url)
  // The test kills the server during some of these connections.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

describe('startDatabase', () => {
  const folder = createFolder()
  const said: string[] = []
  let port = 0
  const start = async (password = 'secret', stop = new AbortController().signal) => {
    const home = await prepareHome(folder, join(folder, 'state'))
    const logFile = join(folder, 'postgres.log')
    const say = (line: string) => said.push(line)
    const database = await startDatabase(home, { port, password, logFile, say, stop })
    return { ...database, home, pid: findServerState(home.data)?.pid ?? 0 }
  }
  /**
   * The file in which the server stores its process id. The data of the server are created once, because this takes most of the
   * time of a first start.
   */
  let pidFile = ''
  beforeAll(async () => {
    port = await freePort()
    const { home, end } = await start()
    await end()
    pidFile = join(home.data, 'postmaster.pid')
  })

  it('keeps committed data through a restart, kill -9 of the server, and a server that was left running', async () => {
    const first = await start()
    await query(first.url, 'CREATE TABLE kept (n int)')
    await query(first.url, 'INSERT INTO kept VALUES (1)')
    await first.end()
    expect(isAlive(first.pid)).toBe(false)

    const second = await start()
    await query(second.url, 'INSERT INTO kept VALUES (2)')
    process.kill(second.pid, 'SIGKILL')
    // The server is restarted as soon as the backends of the killed server have ended.
    await expect
      .poll(() => query(second.url, 'SELECT n FROM kept ORDER BY n').catch(() => undefined))
      .toEqual([{ n: 1 }, { n: 2 }])
    expect(said.at(-1)).toMatch(/^PostgreSQL has ended by itself and is restarted/)
    const running = findServerState(second.home.data)?.pid ?? 0

    // The situation after kill -9 of the stack: only the server's pid file shows that the server is running.
    const settled = await prepareHome(folder, join(folder, 'state'))
    expect(settled).toEqual(second.home)
    expect(isAlive(running)).toBe(false)
    await second.end()

    const third = await start()
    expect(await query(third.url, 'SELECT n FROM kept ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }])
    expect(await query(third.url, 'SHOW fsync')).toEqual([{ fsync: 'on' }])
    await third.end()
  })

  it('says that secrets and data come from different starts', async () => {
    await expect(start('another')).rejects.toHaveProperty('problems', [
      'The password of the database is not the one in secrets.env: they were made by different starts.',
      'Put the old secrets.env back, or remove the data to start over.',
    ])
    expect(existsSync(pidFile)).toBe(false)
  })

  it('stops at once while the server starts', async () => {
    await expect(start('secret', AbortSignal.abort(new Error('told to stop')))).rejects.toThrow('told to stop')
    expect(existsSync(pidFile)).toBe(false)
  })
})

describe('chooseHome', () => {
  /** Creates a checkout with fake binaries. As root, the account is PostgreSQL's, otherwise the user of the test. */
  async function fakeCheckout() {
    const root = createFolder()
    const directory = join(root, 'native')
    for (const folder of [join(directory, 'bin'), join(directory, 'share', 'postgresql'), join(root, '.data')]) {
      mkdirSync(folder, { recursive: true })
    }
    writeFileSync(join(directory, 'bin', 'postgres'), '', { mode: 0o755 })
    writeFileSync(join(directory, 'share', 'postgresql', 'postgres.bki'), '')
    const { uid, gid, username: name } = userInfo()
    const account = uid === 0 ? await chooseAccount() : { name, uid, gid }
    const binaries = { directory, version: '18' }
    return { binaries, dataDirectory: join(root, '.data'), stateDirectory: join(root, 'state'), account }
  }

  it('keeps everything in the checkout if the account can reach it', async () => {
    const checkout = await fakeCheckout()
    expect(await chooseHome(checkout)).toEqual({
      binaries: checkout.binaries.directory,
      data: join(checkout.dataDirectory, 'postgres'),
      account: checkout.account,
      isOutside: false,
    })
  })

  it('keeps data and binaries outside if it cannot, even when it can later', async () => {
    const checkout = await fakeCheckout()
    const program = join(checkout.binaries.directory, 'bin', 'postgres')
    chmodSync(program, 0o644)
    const home = await chooseHome(checkout)
    expect(home.isOutside).toBe(true)
    expect(home.data).toMatch(new RegExp(`^${checkout.stateDirectory}/[0-9a-f]{12}/postgres$`))
    expect(existsSync(join(home.binaries, 'bin', 'postgres'))).toBe(true)
    mkdirSync(home.data)
    writeFileSync(join(home.data, 'PG_VERSION'), '18')
    chmodSync(program, 0o755)
    expect(await chooseHome(checkout)).toEqual(home)
  })

  it('needs no account when the stack does not run as root', async () => {
    const binaries = findBinaries(process.platform, process.arch)
    const options = { binaries, dataDirectory: '/repo/.data', stateDirectory: '/state', account: undefined }
    expect(await chooseHome(options)).toEqual({
      binaries: binaries.directory,
      data: '/repo/.data/postgres',
      isOutside: false,
    })
  })

  it('names a system for which there is no PostgreSQL', () => {
    expect(() => findBinaries('aix', 'ppc64')).toThrow(
      'There is no PostgreSQL for aix-ppc64 on npm. Set DATABASE_URL to a server of your own.',
    )
  })
})

describe('endProcess', () => {
  it('returns true for a process that has ended already', async () => {
    expect(await endProcess(2 ** 22 + 1, [{ signal: 'SIGTERM', waitMs: 10, target: 'process' }])).toBe(true)
  })
})
