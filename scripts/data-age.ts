// Fails when the data of payments about currencies and banks are older than a year, as `payments doctor` does.
import { findOldData } from '../services/payments/src/commands/money-checks.ts'

const old = findOldData(new Date())
for (const { name, asOf } of old)
  console.error(`${name}: of ${asOf}, older than a year. Compare with the source that the file names`)
process.exitCode = old.length === 0 ? 0 : 1
