import { mkdtemp, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Three times what the databases of a whole run need at most. */
const memoryBytesMin = 3 * 2 ** 30

/**
 * A folder for the data of a PostgreSQL, in memory where Linux offers enough of it: creating and dropping a database
 * then takes 50 ms instead of 250.
 */
export async function makeDatabaseFolder(prefix: string): Promise<string> {
  const { bavail, bsize } = await statfs('/dev/shm').catch(() => ({ bavail: 0, bsize: 0 }))
  return await mkdtemp(join(bavail * bsize >= memoryBytesMin ? '/dev/shm' : tmpdir(), prefix))
}
