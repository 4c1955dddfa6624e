"""The page Settings: language, colours, cache, package settings as found, privacy, knowledge, policy."""

from __future__ import annotations

from typing import Any

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QPushButton, QVBoxLayout

from advisor_gui import session, wording
from advisor_gui.ui.pages.base import Page, card, label
from advisor_gui.ui.theme import SPACE
from advisor_gui.ui.widgets.tables import Table, leaves


class SettingsPage(Page):
    name = "settings"

    def build(self) -> None:
        self.title = label(size="title")
        self.column.addWidget(self.title)
        self.look_title, look = self._card()
        form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.FieldsStayAtSizeHint)
        form.setHorizontalSpacing(SPACE[4])
        form.setVerticalSpacing(SPACE[1])
        self.language, self.theme = QComboBox(), QComboBox()
        for box in (self.language, self.theme):
            box.setMinimumWidth(220)
        self.motion = QCheckBox()
        self.language_label, self.theme_label = label(wrap=False), label(wrap=False)
        self.language_label.setBuddy(self.language)
        self.theme_label.setBuddy(self.theme)
        form.addRow(self.language_label, self.language)
        form.addRow(self.theme_label, self.theme)
        form.addRow("", self.motion)
        look.addLayout(form)
        self.language.activated.connect(self._language)
        self.theme.activated.connect(self._theme)
        self.motion.toggled.connect(lambda on: self.context.settings.change(reduced_motion=on))
        self.storage_title, storage = self._card()
        self.storage_hint, self.storage_size = label("", "muted"), label()
        self.clear = QPushButton()
        self.clear.clicked.connect(self._clear)
        for widget in (self.storage_hint, self.storage_size):
            storage.addWidget(widget)
        storage.addWidget(self.clear, 0, Qt.AlignmentFlag.AlignLeft)
        self.packages_title, packages = self._card()
        self.packages_hint = label("", "muted")
        packages.addWidget(self.packages_hint)
        self.packages = SettingTable(self.context)
        packages.addWidget(self.packages)
        self.knowledge_title, knowledge = self._card()
        self.knowledge_text = label()
        knowledge.addWidget(self.knowledge_text)
        self.policy_title, policy = self._card()
        self.policy_text = label()
        policy.addWidget(self.policy_text)
        self.privacy_title, privacy = self._card()
        self.privacy_text = label()
        privacy.addWidget(self.privacy_text)
        self.column.addStretch(1)

    def _card(self) -> tuple[Any, QVBoxLayout]:
        frame, column = card()
        title = label(size="section")
        column.addWidget(title)
        self.column.addWidget(frame)
        return title, column

    def say(self) -> None:
        words, now = self.context.words, self.context.settings.now
        self.title.setText(words("main.settings"))
        for widget, key in (
            (self.look_title, "look"), (self.storage_title, "storage"), (self.packages_title, "packages"),
            (self.privacy_title, "privacy"), (self.privacy_text, "privacy_text"), (self.knowledge_title, "knowledge"),
            (self.policy_title, "policy"), (self.language_label, "language"), (self.theme_label, "theme"),
            (self.packages_hint, "packages_hint"), (self.clear, "clear"), (self.motion, "motion"),
            (self.policy_text, "policy_none"),
        ):  # fmt: skip
            widget.setText(words(f"settings.{key}"))
        self._choices(self.language, ((words("settings.system_language"), None), ("English", "en"), ("简体中文", "zh")), now.language)
        self._choices(self.theme, tuple((words(f"settings.theme_{t}"), t) for t in ("system", "light", "dark")), now.theme)
        self.language.setAccessibleName(words("settings.language"))
        self.theme.setAccessibleName(words("settings.theme"))
        self.motion.setChecked(now.reduced_motion)

    def _choices(self, box: QComboBox, choices: tuple[tuple[str, Any], ...], chosen: Any) -> None:
        box.clear()
        for text, value in choices:
            box.addItem(text, value)
        box.setCurrentIndex(next((i for i, (_, v) in enumerate(choices) if v == chosen), 0))

    def refresh(self, topic: str) -> None:
        if topic not in ("shown", "language", "catalog"):
            return
        words, desk = self.context.words, self.context.desk
        self.storage_hint.setText(words("settings.storage_hint", path=str(desk.places.cache)))
        self.storage_size.setText(words("settings.measuring"))
        self.context.jobs.start("storage", lambda _: session.environments(desk.places), on_done=self._measured, on_error=self._failed)
        self.context.jobs.start(
            "package-settings", lambda progress: session.package_settings(progress), on_done=self._found, on_error=self._failed
        )
        if desk.catalog is not None:
            dates = sorted([f.checked for f in desk.catalog.frameworks.values()])
            self.knowledge_text.setText(words(
                "settings.knowledge_text", frameworks=len(desk.catalog.frameworks), scenarios=len(desk.catalog.scenarios),
                oldest=dates[0] if dates else "–", newest=dates[-1] if dates else "–",
            ))  # fmt: skip

    def _measured(self, found: tuple[int, int]) -> None:
        count, size = found
        self.storage_size.setText(self.context.words("settings.size", size=wording.size(size), count=count))
        self.clear.setEnabled(count > 0)

    def _found(self, found: Any) -> None:
        from probes.software import package_index

        body = msgspec.to_builtins(package_index.shown(found))
        sources = body.pop("sources", {})
        rows = [[key, value, sources.get(key, "")] for key, value in leaves(body, "") if value not in ("False", "")]
        rows = [[key.lstrip("."), value, sources.get(key.lstrip(".").split(".")[0], "")] for key, value, _ in rows]
        self.packages.show_rows(rows)
        self.packages.setVisible(bool(rows))
        self.packages_hint.setText(self.context.words("settings.packages_hint" if rows else "settings.packages_none"))

    def _clear(self) -> None:
        places = self.context.desk.places
        self.clear.setEnabled(False)
        self.context.jobs.start("clear", lambda _: session.remove_environments(places), on_done=self._cleared, on_error=self._failed)

    def _cleared(self, _: object) -> None:
        self.context.say(self.context.words("settings.cleared"))
        self.refresh("shown")

    def _language(self, _: int) -> None:
        chosen = self.language.currentData()
        self.context.settings.change(language=chosen)
        self.context.words.choose(chosen or session.default_language())

    def _theme(self, _: int) -> None:
        self.context.settings.change(theme=self.theme.currentData())
        self.context.actions["repaint"]()

    def _failed(self, error: BaseException) -> None:
        text = getattr(error, "text", None)
        self.context.complain(self.context.words.text(text) if text is not None else str(error))

    def hideEvent(self, event: object) -> None:
        for name in ("storage", "package-settings"):
            self.context.jobs.cancel(name)
        super().hideEvent(event)  # type: ignore[arg-type]


class SettingTable(Table):
    named = "settings.packages"
    headings = ("settings.column_setting", "settings.column_value", "settings.column_source")
