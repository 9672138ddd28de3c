import { expect, it } from 'vitest'
import { Lifecycle } from './application.ts'
import { emptyTable } from './discovery/build-table.ts'
import { Listeners } from './events.ts'
import type { RouteTable } from './routing/table.ts'

/** Returns a table that can be identified by its warning. */
const tableOf = (name: string): RouteTable => ({ ...emptyTable, warnings: [name] })

/** Creates a lifecycle whose builds end when the test ends them, in the order in which they began. */
function watched() {
  const happened: string[] = []
  const log = (error: unknown, message: string) => void happened.push(`${message}: ${error}`)
  const core = { table: emptyTable, log, listeners: new Listeners(log) }
  const builds: PromiseWithResolvers<RouteTable>[] = []
  const watches: (() => Promise<void>)[] = []
  const lifecycle = new Lifecycle({
    core,
    build: () => {
      const build = Promise.withResolvers<RouteTable>()
      builds.push(build)
      return build.promise
    },
    watch: (reload) => {
      watches.push(reload)
      return () => void happened.push('watch ended')
    },
  })
  for (const event of ['ready', 'close'] as const) {
    core.listeners.add(event, () => void happened.push(`${event}, ${lifecycle.load}, ${lifecycle.watch}`))
  }
  const served = async () => {
    const ready = lifecycle.ready()
    builds[0]?.resolve(tableOf('first'))
    await ready
    const [reload = expect.fail('nothing is watched')] = watches
    return reload
  }
  return { happened, core, builds, watches, lifecycle, served }
}

it('a load is asked for once, and serves when the listeners of "ready" have ended', async () => {
  const { happened, core, builds, lifecycle } = watched()
  expect(lifecycle.load).toBe('new')
  const ready = [lifecycle.ready(), lifecycle.ready()]
  expect([lifecycle.load, builds.length]).toEqual(['loading', 1])
  builds[0]?.resolve(tableOf('first'))
  await Promise.all(ready)
  expect([lifecycle.load, lifecycle.watch, core.table.warnings]).toEqual(['serving', 'watching', ['first']])
  expect(happened).toEqual(['ready, preparing, waiting'])
})

it('a load that has failed is not tried again', async () => {
  const { happened, builds, watches, lifecycle } = watched()
  const ready = lifecycle.ready()
  builds[0]?.reject(new Error('no controllers'))
  for (const asked of [ready, lifecycle.ready()]) await expect(asked).rejects.toThrow('no controllers')
  expect([lifecycle.load, lifecycle.watch, builds.length, watches, happened]).toEqual(['failed', 'waiting', 1, [], []])
})

it('the reload that started last wins, even if it ends first', async () => {
  const { happened, core, builds, lifecycle, served } = watched()
  const reload = await served()
  const reloads = [reload(), reload()]
  expect(lifecycle.watch).toBe('reloading')
  builds[2]?.resolve(tableOf('third'))
  builds[1]?.resolve(tableOf('second'))
  await Promise.all(reloads)
  expect([lifecycle.watch, core.table.warnings]).toEqual(['watching', ['third']])
  expect(happened).toEqual(['ready, preparing, waiting', 'ready, serving, watching'])
})

it('a reload that fails keeps the table, and says why', async () => {
  const { happened, core, builds, lifecycle, served } = watched()
  const reloaded = (await served())()
  builds[1]?.reject(new Error('a typing error'))
  await reloaded
  expect([lifecycle.watch, core.table.warnings]).toEqual(['watching', ['first']])
  expect(happened.slice(1)).toEqual(['the controllers stay as they were: Error: a typing error'])
})

it.each([
  ['ends', (build: PromiseWithResolvers<RouteTable> | undefined) => build?.resolve(tableOf('second'))],
  ['fails', (build: PromiseWithResolvers<RouteTable> | undefined) => build?.reject(new Error('late'))],
])('a reload that %s after close() changes nothing, and calls no listener', async (_how, end) => {
  const { happened, core, builds, lifecycle, served } = watched()
  const reloaded = (await served())()
  await lifecycle.close()
  end(builds[1])
  await reloaded
  expect([lifecycle.load, lifecycle.watch, core.table.warnings]).toEqual(['serving', 'ended', ['first']])
  expect(happened).toEqual(['ready, preparing, waiting', 'watch ended', 'close, serving, ended'])
})

it('close() during the load lets it end, and nothing is watched', async () => {
  const { builds, watches, lifecycle } = watched()
  const ready = lifecycle.ready()
  await lifecycle.close()
  builds[0]?.resolve(tableOf('first'))
  await ready
  expect([lifecycle.load, lifecycle.watch, watches]).toEqual(['serving', 'ended', []])
})
