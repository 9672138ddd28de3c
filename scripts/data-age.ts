// Fails if external data are older than a year, like `doctor` of auth and payments.
import { findOldData } from '../packages/common/src/commands/run-checks.ts'
import { PHONE_DATA } from '../services/auth/src/requests/fields.ts'
import { MONEY_DATA } from '../services/payments/src/commands/money-checks.ts'

const old = findOldData([...MONEY_DATA, PHONE_DATA], new Date())
for (const { name, asOf } of old)
  console.error(`${name}: of ${asOf}, older than a year. Compare with the source that the file names`)
process.exitCode = old.length === 0 ? 0 : 1
