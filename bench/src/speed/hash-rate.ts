// Prints how many argon2id hashes with the service's parameters this machine makes per second: node hash-rate.ts SECONDS. It runs
// in its own process, because the number of threads must be set before the first hash.
import { availableParallelism } from 'node:os'
import { hash } from '@node-rs/argon2'

const seconds = Number(process.argv[2])
/** OWASP's parameters, as in the service (auth reference: Passwords). */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

let hashes = 0
const startMs = performance.now()
const isOver = () => performance.now() - startMs > seconds * 1_000
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    while (!isOver()) {
      await hash('correct horse battery staple', COST)
      hashes += 1
    }
  }),
)
process.stdout.write(String((hashes * 1_000) / (performance.now() - startMs)))
