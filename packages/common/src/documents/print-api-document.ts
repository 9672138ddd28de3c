import { z } from 'zod'

// Prints the OpenAPI document of a service: `node print-api-document.ts <URL of the module that has buildOpenApi>`. It runs as
// a process of its own, since the other requests of the service would wait for it.

const Describing = z.object({ buildOpenApi: z.custom<() => Promise<object>>((value) => typeof value === 'function') })

const [, , module = ''] = process.argv
const { buildOpenApi } = Describing.parse(await import(module))
const text = JSON.stringify(await buildOpenApi())
process.stdout.write(text, () => {
  // The modules of a service may keep timers or sockets open.
  process.exit()
})
