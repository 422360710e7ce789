import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

export type Programs = { patroni: string[]; etcd: string; haproxy: string; postgresBin: string }

/** The programs that the test starts. `missing` says of each one that was not found how to install it. */
export function findPrograms(): { programs: Programs; missing: string[] } {
  // Such as `PATRONI="/usr/bin/python3 /srv/patroni/patroni.py"`, for Patroni from its Git repository.
  const patroni = (process.env.PATRONI ?? 'patroni').split(' ')
  const postgresBin = findPostgresBin()
  const etcd = findProgram('etcd')
  const haproxy = findProgram('haproxy')
  const missing = [
    ...(patroniVersion(patroni) >= 4
      ? []
      : [
          'Patroni 4 or later: `pip install patroni[etcd3,psycopg2]`, or PATRONI="python3 <its repository>/patroni.py"',
        ]),
    ...(etcd ? [] : ['etcd: `apt-get install etcd-server`']),
    ...(haproxy ? [] : ['HAProxy: `apt-get install haproxy`']),
    ...(postgresBin
      ? []
      : ['PostgreSQL 15 or later with pg_basebackup: `apt-get install postgresql`, or its folder in PG_BIN']),
  ]
  return {
    programs: { patroni, etcd: etcd ?? '', haproxy: haproxy ?? '', postgresBin: postgresBin ?? '' },
    missing,
  }
}

function patroniVersion([command = '', ...args]: string[]): number {
  const { stdout } = spawnSync(command, [...args, '--version'], { encoding: 'utf8' })
  return Number(/^patroni\S* (\d+)\./.exec(stdout ?? '')?.[1] ?? 0)
}

/** Debian installs some programs outside of the PATH of users. */
export function findProgram(name: string): string | undefined {
  return [name, `/usr/sbin/${name}`].find((path) =>
    ['--version', '-v'].some((arg) => spawnSync(path, [arg]).status === 0),
  )
}

/** The programs' folder of a complete PostgreSQL: the one that ships with Guichê has no pg_basebackup. */
export function findPostgresBin(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const installed = existsSync(debian) ? readdirSync(debian).sort((one, other) => Number(other) - Number(one)) : []
  const configured = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' }).stdout?.trim()
  return [process.env.PG_BIN, ...installed.map((version) => join(debian, version, 'bin')), configured].find(
    (folder) => folder && ['initdb', 'postgres', 'pg_basebackup'].every((name) => existsSync(join(folder, name))),
  )
}

/** The user of the programs if the test runs as root: PostgreSQL refuses to run as root. */
export function findUser(): { uid: number; gid: number } | Record<string, never> {
  if (process.getuid?.() !== 0) return {}
  for (const name of ['postgres', 'nobody'])
    try {
      const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' })))
      if (uid && gid) return { uid, gid }
    } catch {}
  return { uid: 65_534, gid: 65_534 }
}
