import { Alert, Badge, Button, Group, Radio, Select, Stack, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { Section } from '../../components/page.tsx'
import { SecretsModal } from '../../components/secrets-modal.tsx'
import { useFormat } from '../../format.ts'
import { newUuid, useKeyUntilSuccess } from '../../idempotency.ts'
import { useText } from '../../text.ts'
import type { ValidSecret } from '../../types.ts'
import { words } from './text.ts'

/** The valid secrets of one kind, and a button to rotate them. */
export function Secrets({
  of,
  clientId,
  secrets,
  hasProvider = false,
  canRotate,
}: {
  of: 'client' | 'webhook'
  clientId: string
  secrets: ValidSecret[]
  /** An external provider keeps the secret. */
  hasProvider?: boolean
  /** False if the user lacks a permission that the client has: with a new secret they would get it. */
  canRotate: boolean
}) {
  const t = useText(words)
  const format = useFormat()
  const [isConfirming, setConfirming] = useState(false)
  const [created, setCreated] = useState<string | null>(null)
  const [newId, renewId] = useKeyUntilSuccess(newUuid)
  const [nextId, renewNextId] = useKeyUntilSuccess(newUuid)
  const lead = of === 'client' ? t.secretsLead : t.webhookLead
  return (
    <Section
      title={of === 'client' ? t.secrets : t.webhookSecrets}
      aside={
        !hasProvider &&
        canRotate && (
          <Button
            size="xs"
            variant="default"
            onClick={() => setConfirming(true)}
            aria-label={`${t.rotate}: ${of === 'client' ? t.secrets : t.webhookSecrets}`}
          >
            {t.rotate}
          </Button>
        )
      }
    >
      <Text size="sm" c="dimmed">
        {hasProvider ? t.provider : lead}
      </Text>
      {!hasProvider && secrets.length === 0 && (
        <Alert color="red" mt="sm">
          {t.noSecret}
        </Alert>
      )}
      {!hasProvider && (
        <Stack gap={0} mt={6}>
          {secrets.map(({ createdAt, expiresAt }) => (
            <Group key={`${createdAt} ${expiresAt}`} className="row" py={8} justify="space-between">
              <Text size="sm">{t.createdOn(format.dateTime(createdAt))}</Text>
              <Badge variant="light" color={expiresAt === null ? 'teal' : 'yellow'} tt="none" radius="sm">
                {expiresAt === null ? t.valid : t.until(format.dateTime(expiresAt))}
              </Badge>
            </Group>
          ))}
        </Stack>
      )}
      {isConfirming && (
        <Rotate
          of={of}
          clientId={clientId}
          secrets={secrets}
          newId={newId}
          nextId={nextId}
          onClose={() => setConfirming(false)}
          onCreated={(secret) => {
            renewId()
            renewNextId()
            setConfirming(false)
            setCreated(secret)
          }}
        />
      )}
      <SecretsModal
        title={t.newSecret[of]}
        secrets={created === null ? null : { [t.newSecret[of]]: created }}
        onDone={() => setCreated(null)}
      />
    </Section>
  )
}

function Rotate({
  of,
  clientId,
  secrets,
  newId,
  nextId,
  onClose,
  onCreated,
}: {
  of: 'client' | 'webhook'
  clientId: string
  /** The newest first. */
  secrets: ValidSecret[]
  /** The id of the new secret if at most one is valid now. The same id again repeats the rotation. */
  newId: string
  /** The id of the new secret if two are valid now and the newer one is used. */
  nextId: string
  onClose: () => void
  onCreated: (secret: string) => void
}) {
  const t = useText(words)
  const format = useFormat()
  const queries = useQueryClient()
  // As they were when the dialog opened.
  const [[current, former]] = useState(secrets)
  const rotate = useMutationForm({
    initialValues: { overlapHours: '24', used: null as string | null },
    send: async ({ overlapHours, used }) =>
      await request<{ secret: string }>('POST', `/client/${encodeURIComponent(clientId)}/secret`, {
        of,
        overlapHours: Number(overlapHours),
        // With the id of the current secret its rotation is repeated, and the former one stays valid.
        id: former ? (used === former.id ? current?.id : nextId) : newId,
      }),
    onSuccess: async ({ secret }) => {
      await queries.invalidateQueries({ queryKey: ['client', clientId] })
      onCreated(secret)
    },
  })
  const isAtOnce = rotate.values.overlapHours === '0'
  return (
    <Confirm
      title={t.rotateOf[of]}
      isOpen
      onClose={onClose}
      confirm={t.rotateOf[of]}
      isDangerous={isAtOnce}
      action={rotate}
      isReady={!former || rotate.values.used !== null}
    >
      <Text size="sm">{t.rotateLead}</Text>
      {current && former && (
        <Radio.Group {...rotate.input('used')} label={t.used} description={t.usedHint} required>
          <Stack gap="xs" mt="xs">
            {[current, former].map(({ id, createdAt }) => (
              <Radio key={id} value={id} label={t.createdOn(format.dateTime(createdAt))} />
            ))}
          </Stack>
        </Radio.Group>
      )}
      <Select
        {...rotate.input('overlapHours')}
        label={t.overlap}
        data={['0', '1', '24', '168', '720'].map((value) => ({ value, label: t.overlaps[value] ?? value }))}
        allowDeselect={false}
      />
      {isAtOnce && <Alert color="red">{t.overlapZero}</Alert>}
    </Confirm>
  )
}
