import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core'
import { texts, useText } from '../text.ts'
import { Copyable } from './copy.tsx'

const words = texts({
  en: { once: 'Shown only once. Copy it now: it cannot be shown again.', done: 'I copied it' },
  pt: { once: 'Aparece uma única vez. Copie agora: não poderá ser exibido de novo.', done: 'Já copiei' },
})

/** Shows newly created secrets until the user confirms that they are copied. */
export function SecretsModal({
  title,
  secrets,
  onDone,
}: {
  title: string
  /** Names and values; null shows nothing. */
  secrets: Record<string, string> | null
  onDone: () => void
}) {
  const t = useText(words)
  return (
    <Modal
      opened={secrets !== null}
      onClose={onDone}
      title={title}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
      centered
      size="lg"
    >
      <Stack>
        <Alert color="yellow">{t.once}</Alert>
        {Object.entries(secrets ?? {}).map(([name, value]) => (
          <div key={name}>
            <Text size="sm" c="dimmed">
              {name}
            </Text>
            <Copyable value={value} label={name} />
          </div>
        ))}
        <Group justify="flex-end">
          <Button onClick={onDone}>{t.done}</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
